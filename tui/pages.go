package tui

import (
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/informers"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/leases"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/queues"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/revisions"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/timeline"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/tree"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/writes"
)

// pageRow is one row of the table of pages.
type pageRow struct {
	id   page.ID
	name string
	// words are other names for the command line.
	words []string
	// about is the paragraph of the help.
	about string
	make  func() page.Page
}

// Pages is how many pages there are: their numbers are 1 to Pages().
func Pages() int { return len(pages()) }

// pages is the table of all pages, in the order of their keys.
func pages() []pageRow {
	return []pageRow{
		{page.Controllers, "Controllers", []string{"controller", "loops"}, aboutControllers, controllers.New},
		{page.Queues, "Queues", []string{"queue", "keys", "workqueue"}, aboutQueues, queues.New},
		{page.Informers, "Informers", []string{"informer", "cache"}, aboutInformers, informers.New},
		{page.Writes, "Writes", []string{"write", "ledger"}, aboutWrites, writes.New},
		{page.Tree, "Tree", []string{"owners", "ownerreferences"}, aboutTree, tree.New},
		{page.Revisions, "Revisions", []string{"revision", "history", "rollout"}, aboutRevisions, revisions.New},
		{page.Leases, "Leases", []string{"lease", "election", "leader"}, aboutLeases, leases.New},
		{page.Timeline, "Timeline", []string{"journal", "events"}, aboutTimeline, timeline.New},
	}
}
