package tui

import (
	"reflect"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

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
	// changedMsg: the user has done something to the page: moved its cursor, typed a
	// filter, pressed a key of it.
	changedMsg struct{}
	// sizeMsg is the size in which pages are drawn.
	sizeMsg struct{ w, h int }
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
	// openMsg opens a text that is made anew every second.
	openMsg struct{ view func(*env) *widget.TextView }
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
