package tui

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/detail"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// actions are the keys that mean the same on every page.
func (m *model) actions() []page.Action {
	e := m.env
	under := m.page().Under(e)
	nothing := ""
	if under.Kind == page.OnNothing {
		nothing = page.ErrNothing.Error()
	}
	out := []page.Action{
		{Keys: []string{"?"}, Label: "help", Always: true, Help: "Show all keys.", Do: m.help},
		{Keys: []string{":"}, Label: "command", Help: "Type a command: the name of a page or of a type, seek, record, quit.", Do: m.command},
		{Keys: []string{"/"}, Label: "filter", Help: "Filter the rows: text or a regular expression, !text for what does not match, -l labels, -f fuzzy.", Off: m.noFilter(), Do: m.filter},
		{Keys: []string{"i"}, Label: "explain", Help: "Explain what the cursor is on.", Do: func() tea.Cmd { return m.explain(under) }},
		{Keys: []string{"y"}, Label: "yaml", Help: "Show what the cursor is on as YAML.", Off: nothing, Do: func() tea.Cmd { return m.yaml(under) }},
		{Keys: []string{"c"}, Label: "copy", Help: "Copy the name under the cursor.", Off: page.FirstOf(nothing, e.Without(m.options.Copy != nil)), Do: func() tea.Cmd { return m.copy(under.Copied(), under.Name) }},
		{Keys: []string{"p"}, Label: "pause", Help: "Pause or resume the display. Watching goes on meanwhile.", Do: m.pause},
		{Keys: []string{"A"}, Help: "Show the writes pending approval, and the circuit breaker.", Off: noApprovals(e), Do: m.openApprovals},
		{Keys: []string{"L"}, Help: "Lead: let the running controllers write to this cluster for real, after a preview and a confirmation; or step down.", Off: m.noActive(), Do: m.lead},
		{Keys: []string{"X"}, Help: "Show what the command prints.", Off: m.noCommand(), Do: m.output},
		{Keys: []string{"S"}, Help: "Start or stop saving a recording.", Off: e.Without(m.options.Recorder != nil), Do: m.record},
		{Keys: []string{"K"}, Help: "Show and copy how kubectl reaches this sandbox.", Off: m.noKubeconfig(), Do: m.kubectl},
		{Keys: []string{"esc"}, Help: "Leave what was opened; leave the filter; go to the page before.", Do: m.back},
		{Keys: []string{"tab"}, Help: "Go to the next page.", Do: func() tea.Cmd { return m.show(m.neighbour(1), true) }},
		{Keys: []string{"shift+tab"}, Help: "Go to the page to the left.", Do: func() tea.Cmd { return m.show(m.neighbour(-1), true) }},
		{Keys: []string{"q"}, Label: "quit", Help: "Quit.", Do: m.askQuit},
	}
	for _, row := range m.table {
		out = append(out, page.Action{
			Keys: []string{strconv.Itoa(int(row.id))}, Help: "Go to " + row.name + ".",
			Do: func() tea.Cmd { return m.show(row.id, true) },
		})
	}
	return append(out, m.playing()...)
}

// overText are those of the keys everywhere that mean the same over a text: they
// need nothing under a cursor. Going to a page closes the text.
func (m *model) overText() []page.Action {
	return slices.DeleteFunc(m.actions(), func(a page.Action) bool {
		switch a.Keys[0] {
		case ":", "p", "S", "K", "X", "tab", "shift+tab":
			return false
		case "?":
			return m.text.isHelp
		}
		_, err := strconv.Atoi(a.Keys[0])
		return err != nil && !slices.ContainsFunc(m.playing(), func(p page.Action) bool { return p.Keys[0] == a.Keys[0] })
	})
}

func (m *model) noKubeconfig() string {
	if m.options.Kubeconfig == "" {
		return "only a sandbox has a kubeconfig of its own"
	}
	return ""
}

// kubectl shows the line for a shell beside the screen.
func (m *model) kubectl() tea.Cmd {
	line := "export KUBECONFIG=" + m.options.Kubeconfig
	if m.options.Copy == nil {
		return page.Say(line)
	}
	return m.copy(line, line)
}

func (m *model) neighbour(by int) page.ID {
	n := len(m.table)
	return page.ID((int(m.shown)-1+by+n)%n + 1)
}

func (m *model) noFilter() string {
	if m.page().Filtering() == nil {
		return "this page has nothing to filter"
	}
	return ""
}

// filter opens the filter's line. It filters while one types.
func (m *model) filter() tea.Cmd {
	f := m.page().Filtering()
	apply := func(text string) error {
		parsed, err := widget.ParseFilter(text, f.Labels)
		if err == nil {
			f.Set(parsed)
		}
		return err
	}
	m.open(page.PromptMsg{Label: "/", Value: f.Current.Text, Done: func(text string) tea.Cmd {
		if err := apply(text); err != nil {
			return page.Complain(err.Error())
		}
		return nil
	}}, apply)
	return nil
}

func (m *model) pause() tea.Cmd {
	m.env.Paused = !m.env.Paused
	if m.env.Paused {
		return nil
	}
	m.env.Snap = m.env.Latest
	return m.all(page.SnapshotMsg{})
}

func (m *model) record() tea.Cmd {
	recorder := m.options.Recorder
	return func() tea.Msg {
		said, err := recorder.Toggle()
		if err != nil {
			return page.SayMsg{Text: "save a recording: " + err.Error(), Bad: true}
		}
		return page.SayMsg{Text: said}
	}
}

// playing are the keys of a replay.
func (m *model) playing() []page.Action {
	p := m.env.Player
	if p == nil {
		return nil
	}
	by := func(d time.Duration) func() tea.Cmd {
		return func() tea.Cmd { at := p.Position().Add(d); return moving(func() error { return p.Seek(at) }) }
	}
	step := func(n int) func() tea.Cmd {
		return func() tea.Cmd { return moving(func() error { return p.Step(n) }) }
	}
	errorAt := func(back bool) func() tea.Cmd {
		return func() tea.Cmd {
			return func() tea.Msg {
				found, err := p.SeekError(back)
				switch {
				case err != nil:
					return page.SayMsg{Text: err.Error(), Bad: true}
				case !found:
					return page.SayMsg{Text: "No more errors."}
				}
				return errorFoundMsg{p.Position()}
			}
		}
	}
	speed := func(factor float64) func() tea.Cmd {
		return func() tea.Cmd {
			p.SetSpeed(min(max(p.Speed()*factor, minSpeed), maxSpeed))
			return page.Say(fmt.Sprintf("Speed %gx.", p.Speed()))
		}
	}
	return []page.Action{
		{Keys: []string{" "}, Label: "play/stop", Always: true, Help: "Play the recording, or stop it.", Do: func() tea.Cmd { play := !p.Playing(); return moving(func() error { return p.SetPlaying(play) }) }},
		{Keys: []string{"left"}, Label: "-5s", Help: "Go back five seconds; shift for a minute.", Do: by(-5 * time.Second)},
		{Keys: []string{"right"}, Label: "+5s", Help: "Go on five seconds; shift for a minute.", Do: by(5 * time.Second)},
		{Keys: []string{"shift+left"}, Help: "Go back a minute.", Do: by(-time.Minute)},
		{Keys: []string{"shift+right"}, Help: "Go on a minute.", Do: by(time.Minute)},
		{Keys: []string{"."}, Help: "Go to the next entry.", Do: step(1)},
		{Keys: []string{","}, Help: "Go to the entry before.", Do: step(-1)},
		{Keys: []string{"]"}, Label: "error", Always: true, Help: "Go to the next error.", Do: errorAt(false)},
		{Keys: []string{"["}, Help: "Go to the error before.", Do: errorAt(true)},
		{Keys: []string{"+"}, Help: "Play twice as fast.", Do: speed(2)},
		{Keys: []string{"_"}, Help: "Play half as fast.", Do: speed(0.5)},
	}
}

// errorFoundMsg says that the recording stands at a failure of that time: the last
// entry of the snapshot that comes, or of the one that has come already.
type errorFoundMsg struct{ at time.Time }

// toError puts the cursor of a page on the failure at which the recording stands,
// once the snapshot of it is there.
func (m *model) toError() tea.Cmd {
	entry, ok := m.env.Snap.Recent.At(m.env.Snap.Recent.Len() - 1)
	if !ok || m.errorAt.IsZero() || !entry.At.Equal(m.errorAt) {
		return nil
	}
	m.errorAt = time.Time{}
	to := detail.EventSubject(entry.Event, entry.Seq)
	if m.shown == page.Timeline {
		to.Kind = page.OnEvent
	}
	said := page.Say("An error: " + state.Describe(entry.Event))
	switch m.shown {
	case page.Controllers, page.Queues, page.Writes, page.Timeline:
		if cmd, ok := m.page().Focus(to, m.env); ok {
			return tea.Batch(cmd, said)
		}
	}
	return said
}

// moving moves a recording; the journal brings what is there.
func moving(move func() error) tea.Cmd {
	return func() tea.Msg {
		if err := move(); err != nil {
			return page.SayMsg{Text: "move in the recording: " + err.Error(), Bad: true}
		}
		return nil
	}
}

// The speeds of a replay.
const (
	minSpeed = 0.1
	maxSpeed = 100
)
