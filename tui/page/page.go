package page

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// ID is the number key of a page.
type ID int

// The pages, in the order of their keys. A page jumps to another by its ID.
const (
	Controllers ID = iota + 1
	Queues
	Informers
	Writes
	Tree
	Revisions
	Leases
	Timeline
)

// Page is one of the screens. All its methods run on the goroutine of the
// program; what takes time is a tea.Cmd whose result comes back to Update
// wrapped in a ResultMsg.
//
// A page works out what it shows in Update. The methods that draw or describe it
// (View, Title, Place, Actions, Under, Filtering) are pure: they read the snapshot, the
// page and the time, change nothing and ask nobody.
type Page interface {
	// Update takes what commands of the page brought, and the messages that every
	// page gets; keys come by Actions and by Key, and ChangedMsg after them.
	Update(msg tea.Msg, e *Env) tea.Cmd
	// Key takes keys that no action has, such as the cursor's; false where it
	// means nothing here.
	Key(key string, e *Env) bool
	// View draws exactly h lines of w cells.
	View(e *Env, w, h int) []string
	// Title says what is shown, for the line above the page: "web in shop".
	Title(e *Env) string
	// Place says which rows are visible, "1–19 of 49".
	Place(e *Env) string
	// Actions are the page's keys, with their help.
	Actions(e *Env) []Action
	// Under is what the cursor is on.
	Under(e *Env) Subject
	// Back leaves what was drilled into; false where nothing was.
	Back() bool
	// Focus shows a subject that another page jumped from; false where the page
	// cannot show it.
	Focus(s Subject, e *Env) (tea.Cmd, bool)
	// Filtering says how the page filters; nil where it cannot.
	Filtering() *Filtering
	// Plain gives the rows as lines that stand alone, by identity, for --plain.
	Plain(e *Env) []Row
}

// Filtering is the filter of a page's list that is on the screen.
type Filtering struct {
	Current widget.Filter
	Labels  bool
	Set     func(widget.Filter)
}

// Row is a row as a line of text. One of history that goes has only made
// room: nothing is said of it.
type Row struct {
	ID, Text string
	History  bool
}
