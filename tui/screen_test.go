package tui

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testNow is the time on every screen of the tests.
var testNow = tuitest.Now()

// screen plays the program without a terminal: messages go in, commands run at
// once, and the picture is read after each.
type screen struct {
	t testing.TB
	*model
	// parts are the fakes that stand for parts of a session; told is what the journal
	// has of them, and base the snapshot with it.
	parts []reporter
	told  []state.Event
	base  *state.Snapshot
}

// reporter is a fake of which the journal tells something.
type reporter interface{ facts() []state.Event }

// report has the journal tell of the fakes what has changed since it did so last.
func (s *screen) report() {
	s.t.Helper()
	var facts []state.Event
	for _, p := range s.parts {
		facts = append(facts, p.facts()...)
	}
	if len(s.parts) == 0 || reflect.DeepEqual(facts, s.told) {
		return
	}
	s.told = facts
	s.showBase(s.base)
}

// showBase shows a snapshot with what the fakes tell.
func (s *screen) showBase(base *state.Snapshot) {
	s.t.Helper()
	if len(s.parts) > 0 {
		for _, source := range []state.ControlSource{state.SourceBreakpoints, state.SourceApprovals, state.SourceActive} {
			base = state.Fold(base, state.Entry{Seq: base.Seq + 1, At: base.At, Event: state.ControlsRestated{Source: source}})
		}
		for _, e := range s.told {
			base = state.Fold(base, state.Entry{Seq: base.Seq + 1, At: base.At, Event: e})
		}
	}
	s.base = base
	if !s.env.Paused {
		s.env.Trends.Sample(base, s.options.Now(), 0)
	}
	s.carryOut(s.take(base))
	s.settle()
}

// newScreen shows a snapshot in a size. Commands that wait for the journal or the
// clock never answer.
func newScreen(t testing.TB, o Options, snap *state.Snapshot, w, h int) *screen {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if o.Theme == nil {
		o.Theme = testTheme(t, "mono", termenv.Ascii)
	}
	if o.Now == nil {
		o.Now = func() time.Time { return testNow }
	}
	o.Journal = noJournal{}
	s := &screen{t: t, model: newModel(ctx, o)}
	for _, part := range []any{o.Loops, o.Approvals, o.Active} {
		if p, ok := part.(reporter); ok {
			s.parts = append(s.parts, p)
			s.told = append(s.told, p.facts()...)
		}
	}
	s.carryOut(s.page().Update(page.ShownMsg{}, s.env))
	s.send(tea.WindowSizeMsg{Width: w, Height: h})
	s.show(snap)
	return s
}

func testTheme(t testing.TB, name string, profile widget.Profile) *widget.Theme {
	t.Helper()
	theme, err := widget.NewTheme(name, profile)
	if err != nil {
		t.Fatal(err)
	}
	return theme
}

type noJournal struct{}

func (noJournal) Next(ctx context.Context, _ *state.Snapshot) (*state.Snapshot, error) {
	<-ctx.Done()
	return nil, errors.New("over")
}

// show takes a snapshot as if the journal had brought it, without asking for the
// next.
func (s *screen) show(snap *state.Snapshot) {
	s.t.Helper()
	s.showBase(snap)
}

func (s *screen) send(msg tea.Msg) {
	s.t.Helper()
	s.report()
	_, cmd := s.Update(msg)
	s.carryOut(cmd)
	s.report()
}

// press types keys: names as Bubble Tea has them, or text after "type:".
func (s *screen) press(keys ...string) *screen {
	s.t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "type:"); ok {
			for _, r := range text {
				s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
			}
			continue
		}
		s.send(keyMsg(k))
	}
	return s
}

func keyMsg(name string) tea.KeyMsg {
	for t := tea.KeyType(-100); t < 200; t++ {
		if k := (tea.KeyMsg{Type: t}); k.String() == name && t != tea.KeyRunes {
			return k
		}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// text is the picture without styles. Each line must have the screen's width.
func (s *screen) text() string {
	s.t.Helper()
	s.report()
	lines := strings.Split(s.View(), "\n")
	if len(lines) != s.height {
		s.t.Errorf("the screen has %d lines, want %d", len(lines), s.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w != s.width {
			s.t.Errorf("line %d is %d cells wide, want %d: %q", i+1, w, s.width, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// has fails the test where the picture lacks a text.
func (s *screen) has(texts ...string) *screen {
	s.t.Helper()
	for _, text := range texts {
		if got := s.text(); !strings.Contains(got, text) {
			s.t.Errorf("the screen does not show %q:\n%s", text, got)
		}
	}
	return s
}

func (s *screen) hasNot(texts ...string) *screen {
	s.t.Helper()
	for _, text := range texts {
		if got := s.text(); strings.Contains(got, text) {
			s.t.Errorf("the screen shows %q:\n%s", text, got)
		}
	}
	return s
}

// golden compares the picture with testdata/NAME.txt.
func (s *screen) golden(name string) {
	s.t.Helper()
	got := s.text()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if got != string(want) {
		s.t.Errorf("%s differs (-update writes it anew):\n%s", file, got)
	}
}

// stillPlayer is a player of a recording that nothing moves.
type stillPlayer struct{ playing bool }

func (p *stillPlayer) Range() (from, to time.Time)  { return testNow, testNow.Add(time.Minute) }
func (p *stillPlayer) Position() time.Time          { return testNow }
func (p *stillPlayer) Playing() bool                { return p.playing }
func (p *stillPlayer) Speed() float64               { return 1 }
func (p *stillPlayer) SetPlaying(on bool) error     { p.playing = on; return nil }
func (p *stillPlayer) SetSpeed(float64)             {}
func (p *stillPlayer) Seek(time.Time) error         { return nil }
func (p *stillPlayer) Step(int) error               { return nil }
func (p *stillPlayer) SeekError(bool) (bool, error) { return false, nil }
func (p *stillPlayer) Remarks() string              { return "" }
