package tui

import (
	"reflect"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
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
type page interface {
	// update takes what commands of the page brought, and snapshotMsg, tickMsg
	// and sizeMsg; keys come by actions and by key.
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

// subjectKind is what the cursor can be on.
type subjectKind string

const (
	onNothing    subjectKind = ""
	onController subjectKind = "controller"
	onQueue      subjectKind = "queue"
	onKey        subjectKind = "key"
	onInformer   subjectKind = "informer"
	onObject     subjectKind = "object"
	onWrite      subjectKind = "write"
	onRevision   subjectKind = "revision"
	onLease      subjectKind = "lease"
	onEvent      subjectKind = "event"
)

// subject is what the cursor is on, in the words that other pages understand.
// Fields that do not apply are empty.
type subject struct {
	kind                   subjectKind
	controller, queue, key string
	informer               string
	// filter is that of the informer's cache.
	filter string
	object state.Ref
	// seq is the entry of the journal that it comes from, sync the number of a
	// sync.
	seq, sync uint64
	// name is what is copied, unless copy gives more.
	name string
	copy func() string
	// explain overrides the paragraph of its kind; a key of explanations.
	explain string
}

// pageMsg brings the result of a page's command back to it, whether it is shown
// or not.
type pageMsg struct {
	page pageID
	msg  tea.Msg
}

// answer is what a question to a cluster came to. Round tells an old one from
// the latest.
type answer[T any] struct {
	round int
	value T
	err   error
	// took is how long it was worked on.
	took time.Duration
}

// ask makes a command of a question, whose answer comes back to the page.
func ask[T any](p pageID, round int, question func() (T, error)) tea.Cmd {
	return func() tea.Msg {
		begun := time.Now()
		value, err := question()
		return pageMsg{p, answer[T]{round, value, err, time.Since(begun)}}
	}
}

// Messages that every page gets.
type (
	// snapshotMsg: env has a new snapshot.
	snapshotMsg struct{}
	// tickMsg comes about every second; the ages on the screen have changed.
	tickMsg struct{}
	// shownMsg: the page came on the screen.
	shownMsg struct{}
	// hiddenMsg: it left it.
	hiddenMsg struct{}
)

// Messages that pages send to the root.
type (
	// jumpMsg shows a subject on another page.
	jumpMsg struct {
		page pageID
		to   subject
	}
	// sayMsg puts a sentence in the status line.
	sayMsg struct {
		text string
		bad  bool
	}
	// showMsg opens a text over the page.
	showMsg struct {
		text widget.TextView
		// extra are keys of its own; it may be nil.
		extra func(*env) []action
	}
	// promptMsg asks for a line of text.
	promptMsg widget.PromptOptions
	// confirmMsg asks yes or no.
	confirmMsg struct {
		question string
		yes      func() tea.Cmd
	}
)

// send makes a command of a message. Where a key leads to it, the message is handled
// before the next key: see sent.
//
//go:noinline
func send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// sent gives the message of a command that send made. It is told by its code, as all
// closures of one function share theirs: what takes time is never called here.
func sent(cmd tea.Cmd) (tea.Msg, bool) {
	if cmd == nil || reflect.ValueOf(cmd).Pointer() != reflect.ValueOf(send(nil)).Pointer() {
		return nil, false
	}
	return cmd(), true
}

func say(text string) tea.Cmd      { return send(sayMsg{text: text}) }
func complain(text string) tea.Cmd { return send(sayMsg{text: text, bad: true}) }
