package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// pageID is the number key of a page.
type pageID int

const (
	pageControllers pageID = iota + 1
	pageQueues
	pageInformers
	pageWrites
	pageTree
	pageRevisions
	pageLeases
	pageTimeline
)

// page is one of the screens. All its methods run on the goroutine of the
// program; what takes time is a tea.Cmd whose result comes back to update
// wrapped in a pageMsg.
//
// A page works out what it shows in update. The methods that draw or describe it
// (view, title, actions, under, filtering) are pure: they read the snapshot, the
// page and the time, change nothing and ask nobody.
type page interface {
	// update takes what commands of the page brought, and the messages that every
	// page gets; keys come by actions and by key, and changedMsg after them.
	update(msg tea.Msg, e *env) tea.Cmd
	// key takes keys that no action has, such as the cursor's; false where it
	// means nothing here.
	key(key string, e *env) bool
	// view draws exactly h lines of w cells.
	view(e *env, w, h int) []string
	// title says what is shown, for the line above the page: "web in shop".
	title(e *env) string
	actions(e *env) []action
	// under is what the cursor is on.
	under(e *env) subject
	// back leaves what was drilled into; false where nothing was.
	back() bool
	// focus shows a subject that another page jumped from; false where the page
	// cannot show it.
	focus(s subject, e *env) (tea.Cmd, bool)
	// filtering says how the page filters; nil where it cannot.
	filtering() *filtering
	// plain gives the rows as lines that stand alone, by identity, for --plain.
	plain(e *env) []plainRow
}

// filtering is the filter of a page's list that is on the screen.
type filtering struct {
	current widget.Filter
	labels  bool
	set     func(widget.Filter)
}

// plainRow is a row as a line of text. One of history that goes has only made
// room: nothing is said of it.
type plainRow struct {
	id, text string
	history  bool
}
