package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// fakeCommand stands for the command of exec.
type fakeCommand struct {
	ended  chan struct{}
	code   int
	lines  []string
	err    error
	opened int
}

func (c *fakeCommand) Ended() <-chan struct{} { return c.ended }

func (c *fakeCommand) How() (string, bool) {
	return fmt.Sprintf("has ended with exit code %d", c.code), c.code != 0
}

func (c *fakeCommand) Output(most int) (string, []string, error) {
	c.opened++
	return "/state/op.log", c.lines[max(len(c.lines)-most, 0):], c.err
}

func printed(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("line %d", i+1))
	}
	return out
}

// What the command prints is shown from its end on, and grows while it is looked at.
func TestOutputIsFollowed(t *testing.T) {
	c := &fakeCommand{ended: make(chan struct{}), lines: printed(100)}
	s := newScreen(t, Options{Parts: page.Parts{Command: c}}, shop(t, 100), 80, 24)
	s.press("X").has("What the command prints: /state/op.log", "line 100").hasNot("line 50\n")
	c.lines = printed(120)
	s.carryOut(s.tick())
	s.has("line 120").hasNot("line 99\n")
	s.press("g").has("line 1\n", "line 2\n")
	c.lines = printed(140)
	s.carryOut(s.tick())
	s.has("line 1\n").hasNot("line 140")
	s.press("G").has("line 140").press("esc").hasNot("line 140")
	before := c.opened
	s.carryOut(s.tick())
	if c.opened != before {
		t.Error("the file is read while nobody looks at it")
	}
	c.lines = []string{"\x1b]0;title\x07 \u202e" + strings.Repeat("長", 500)}
	s.press(":", "type:output", "enter").has("長")
	c.err = errors.New("it is gone")
	s.carryOut(s.tick())
	s.has("read /state/op.log: it is gone")
	c.err, c.lines = nil, nil
	s.carryOut(s.tick())
	s.has("It has printed nothing.")
}

// A command that fails says so at once, with its last words; the journal stays there
// to be looked at, and leaving needs no yes any more.
func TestCommandEnds(t *testing.T) {
	for _, code := range []int{0, 3} {
		c := &fakeCommand{ended: make(chan struct{}), code: code, lines: []string{"the last words"}}
		s := newScreen(t, Options{Parts: page.Parts{Command: c}}, shop(t, 100), 80, 24)
		s.send(commandEndedMsg{})
		s.has(fmt.Sprintf("THE COMMAND has ended with exit code %d; X shows what it printed, q leaves", code))
		if code == 0 {
			s.hasNot("the last words").press("X")
		}
		s.has("the last words").press("esc").press("8").has("THE COMMAND has ended").press("q")
		if !s.quitting {
			t.Error("q does not leave")
		}
	}
}

// While the command writes for real, leaving has to be confirmed.
func TestQuitEndsTheCommand(t *testing.T) {
	c := &fakeCommand{ended: make(chan struct{})}
	active := shop(t, 1)
	session := *active
	session.Session.Mode, session.Session.Sandbox = state.ModeActive, false
	s := newScreen(t, Options{Parts: page.Parts{Command: c}}, &session, 80, 24)
	s.press("q").has("Quit, and end the command, which writes for real?").press("n")
	if s.quitting {
		t.Fatal("it has left without a yes")
	}
	s.send(commandEndedMsg{})
	s.press("q")
	if !s.quitting {
		t.Error("a command that has ended keeps the screen up")
	}
}

// Elsewhere the key says why it does nothing.
func TestNoCommand(t *testing.T) {
	newScreen(t, Options{}, shop(t, 1), 80, 24).press("X").has("only 'exec --tui' has a command")
	newScreen(t, Options{Parts: page.Parts{Missing: "this is a recording"}}, shop(t, 1), 80, 24).press("X").has("this is a recording")
}

// A thousand lines are more when they are folded; the end is still the end.
func TestLongLinesOfOutputAreFollowed(t *testing.T) {
	lines := printed(mostOutput)
	for i := range lines {
		lines[i] = strings.Repeat("long ", 40) + lines[i]
	}
	lines[len(lines)-1] = "the last words"
	s := newScreen(t, Options{Parts: page.Parts{Command: &fakeCommand{ended: make(chan struct{}), lines: lines}}}, shop(t, 100), 80, 24)
	s.press("X").has("the last words")
}
