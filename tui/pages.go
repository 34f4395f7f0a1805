package tui

// pageRow is one row of the table of pages.
type pageRow struct {
	id   pageID
	name string
	// words are other names for the command line.
	words []string
	// about is the paragraph of the help.
	about string
	make  func() page
}

// pages is the table of all pages, in the order of their keys.
func pages() []pageRow {
	return []pageRow{
		{pageControllers, "Controllers", []string{"controller", "loops"}, aboutControllers, newControllersPage},
		{pageQueues, "Queues", []string{"queue", "keys", "workqueue"}, aboutQueues, newQueuesPage},
		{pageInformers, "Informers", []string{"informer", "cache"}, aboutInformers, newInformersPage},
		{pageWrites, "Writes", []string{"write", "ledger"}, aboutWrites, newWritesPage},
		{pageTree, "Tree", []string{"owners", "ownerreferences"}, aboutTree, newTreePage},
		{pageRevisions, "Revisions", []string{"revision", "history", "rollout"}, aboutRevisions, newRevisionsPage},
		{pageLeases, "Leases", []string{"lease", "election", "leader"}, aboutLeases, newLeasesPage},
		{pageTimeline, "Timeline", []string{"journal", "events"}, aboutTimeline, newTimelinePage},
	}
}
