package page

import (
	"reflect"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// ResultMsg brings the result of a page's command back to it, whether it is shown
// or not.
type ResultMsg struct {
	Page ID
	Msg  tea.Msg
}

// Answer is what a question to a cluster came to. Round tells an old one from
// the latest.
type Answer[T any] struct {
	Round int
	Value T
	Err   error
	// Took is how long it was worked on.
	Took time.Duration
}

// Ask makes a command of a question, whose answer comes back to the page.
func Ask[T any](p ID, round int, question func() (T, error)) tea.Cmd {
	return func() tea.Msg {
		begun := time.Now()
		value, err := question()
		return ResultMsg{p, Answer[T]{round, value, err, time.Since(begun)}}
	}
}

// Messages that every page gets.
type (
	// SnapshotMsg: Env has a new snapshot.
	SnapshotMsg struct{}
	// TickMsg comes about every second; the ages on the screen have changed.
	TickMsg struct{}
	// ShownMsg: the page came on the screen.
	ShownMsg struct{}
	// HiddenMsg: it left it.
	HiddenMsg struct{}
	// ChangedMsg: the user has done something to the page: moved its cursor, typed a
	// filter, pressed a key of it.
	ChangedMsg struct{}
	// FilteredMsg: the user has typed a filter, and the list is read from its top.
	FilteredMsg struct{}
	// SizeMsg is the size in which pages are drawn.
	SizeMsg struct{ W, H int }
)

// Messages that pages send to the root.
type (
	// JumpMsg shows a subject on another page.
	JumpMsg struct {
		Page ID
		To   Subject
	}
	// SayMsg puts a sentence in the status line.
	SayMsg struct {
		Text string
		Bad  bool
	}
	// ShowMsg opens a text over the page.
	ShowMsg struct {
		Text widget.TextView
		// Extra are keys of its own; it may be nil.
		Extra func(*Env) []Action
	}
	// OpenMsg opens a text that is made anew every second.
	OpenMsg struct{ View func(*Env) *widget.TextView }
	// PromptMsg asks for a line of text.
	PromptMsg widget.PromptOptions
	// ConfirmMsg asks yes or no.
	ConfirmMsg struct {
		Question string
		Yes      func() tea.Cmd
	}
)

// Send makes a command of a message. Where a key leads to it, the message is handled
// before the next key: see Sent.
//
//go:noinline
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Sent gives the message of a command that Send made. It is told by its code, as all
// closures of one function share theirs: what takes time is never called here.
func Sent(cmd tea.Cmd) (tea.Msg, bool) {
	if cmd == nil || reflect.ValueOf(cmd).Pointer() != reflect.ValueOf(Send(nil)).Pointer() {
		return nil, false
	}
	return cmd(), true
}

// Say puts a sentence in the status line.
func Say(text string) tea.Cmd { return Send(SayMsg{Text: text}) }

// Complain is Say of something that went wrong, or is not to be had.
func Complain(text string) tea.Cmd { return Send(SayMsg{Text: text, Bad: true}) }
