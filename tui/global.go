package tui

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// actions are the keys that mean the same on every page.
func (m *model) actions() []action {
	e := m.env
	under := m.page().under(e)
	nothing := ""
	if under.kind == onNothing {
		nothing = errNothing.Error()
	}
	out := []action{
		{keys: []string{"?"}, label: "help", always: true, help: "Show all keys.", do: m.help},
		{keys: []string{":"}, label: "command", help: "Type a command: the name of a page or of a type, seek, record, quit.", do: m.command},
		{keys: []string{"/"}, label: "filter", help: "Filter the rows: text or a regular expression, !text for what does not match, -l labels, -f fuzzy.", off: m.noFilter(), do: m.filter},
		{keys: []string{"i"}, label: "explain", help: "Explain what the cursor is on.", do: func() tea.Cmd { return m.explain(under) }},
		{keys: []string{"y"}, label: "yaml", help: "Show what the cursor is on as YAML.", off: nothing, do: func() tea.Cmd { return m.yaml(under) }},
		{keys: []string{"c"}, label: "copy", help: "Copy the name under the cursor.", off: firstOf(nothing, e.without(m.options.Copy != nil)), do: func() tea.Cmd { return m.copy(under.copied(), under.name) }},
		{keys: []string{"p"}, label: "pause", help: "Pause the screen, or let it go on. What is watched goes on meanwhile.", do: m.pause},
		{keys: []string{"A"}, help: "Show the writes that wait for your yes, and the brake.", off: noApprovals(e), do: m.openApprovals},
		{keys: []string{"L"}, help: "Lead: have the loops that run write to this cluster for real, after you have seen what that means and typed the context's name; or step down.", off: m.noActive(), do: m.lead},
		{keys: []string{"X"}, help: "Show what the command prints.", off: m.noCommand(), do: m.output},
		{keys: []string{"S"}, help: "Start to save a recording, or end it.", off: e.without(m.options.Recorder != nil), do: m.record},
		{keys: []string{"K"}, help: "Show and copy how kubectl reaches this sandbox.", off: m.noKubeconfig(), do: m.kubectl},
		{keys: []string{"esc"}, help: "Leave what was opened; leave the filter; go to the page before.", do: m.back},
		{keys: []string{"tab"}, help: "Go to the next page.", do: func() tea.Cmd { return m.show(m.neighbour(1), true) }},
		{keys: []string{"shift+tab"}, help: "Go to the page to the left.", do: func() tea.Cmd { return m.show(m.neighbour(-1), true) }},
		{keys: []string{"q"}, label: "quit", help: "Quit.", do: m.askQuit},
	}
	for _, row := range m.table {
		out = append(out, action{
			keys: []string{strconv.Itoa(int(row.id))}, help: "Go to " + row.name + ".",
			do: func() tea.Cmd { return m.show(row.id, true) },
		})
	}
	return append(out, m.playing()...)
}

// overText are those of the keys everywhere that mean the same over a text: they
// need nothing under a cursor. Going to a page closes the text.
func (m *model) overText() []action {
	return slices.DeleteFunc(m.actions(), func(a action) bool {
		switch a.keys[0] {
		case ":", "p", "S", "K", "X", "tab", "shift+tab":
			return false
		case "?":
			return m.text.isHelp
		}
		_, err := strconv.Atoi(a.keys[0])
		return err != nil && !slices.ContainsFunc(m.playing(), func(p action) bool { return p.keys[0] == a.keys[0] })
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
		return say(line)
	}
	return m.copy(line, line)
}

func (m *model) neighbour(by int) pageID {
	n := len(m.table)
	return pageID((int(m.shown)-1+by+n)%n + 1)
}

func (m *model) noFilter() string {
	if m.page().filtering() == nil {
		return "this page has nothing to filter"
	}
	return ""
}

// filter opens the filter's line. It filters while one types.
func (m *model) filter() tea.Cmd {
	f := m.page().filtering()
	apply := func(text string) error {
		parsed, err := widget.ParseFilter(text, f.labels)
		if err == nil {
			f.set(parsed)
		}
		return err
	}
	m.open(promptMsg{Label: "/", Value: f.current.Text, Done: func(text string) tea.Cmd {
		if err := apply(text); err != nil {
			return complain(err.Error())
		}
		return nil
	}}, func(text string) { _ = apply(text) }) // half a pattern is no error yet
	return nil
}

func (m *model) pause() tea.Cmd {
	m.env.paused = !m.env.paused
	if m.env.paused {
		return nil
	}
	m.env.snap = m.env.latest
	return m.all(snapshotMsg{})
}

func (m *model) record() tea.Cmd {
	recorder := m.options.Recorder
	return func() tea.Msg {
		said, err := recorder.Toggle()
		if err != nil {
			return sayMsg{text: "save a recording: " + err.Error(), bad: true}
		}
		return sayMsg{text: said}
	}
}

// playing are the keys of a replay.
func (m *model) playing() []action {
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
					return sayMsg{text: err.Error(), bad: true}
				case !found:
					return sayMsg{text: "There is no further error."}
				}
				return errorFoundMsg{p.Position()}
			}
		}
	}
	speed := func(factor float64) func() tea.Cmd {
		return func() tea.Cmd {
			p.SetSpeed(min(max(p.Speed()*factor, minSpeed), maxSpeed))
			return say(fmt.Sprintf("Speed %gx.", p.Speed()))
		}
	}
	return []action{
		{keys: []string{" "}, label: "play/stop", always: true, help: "Play the recording, or stop it.", do: func() tea.Cmd { play := !p.Playing(); return moving(func() error { return p.SetPlaying(play) }) }},
		{keys: []string{"left"}, label: "-5s", help: "Go back five seconds; shift for a minute.", do: by(-5 * time.Second)},
		{keys: []string{"right"}, label: "+5s", help: "Go on five seconds; shift for a minute.", do: by(5 * time.Second)},
		{keys: []string{"shift+left"}, help: "Go back a minute.", do: by(-time.Minute)},
		{keys: []string{"shift+right"}, help: "Go on a minute.", do: by(time.Minute)},
		{keys: []string{"."}, help: "Go to the next entry.", do: step(1)},
		{keys: []string{","}, help: "Go to the entry before.", do: step(-1)},
		{keys: []string{"]"}, label: "error", always: true, help: "Go to the next error.", do: errorAt(false)},
		{keys: []string{"["}, help: "Go to the error before.", do: errorAt(true)},
		{keys: []string{"+"}, help: "Play twice as fast.", do: speed(2)},
		{keys: []string{"_"}, help: "Play half as fast.", do: speed(0.5)},
	}
}

// errorFoundMsg says that the recording stands at a failure of that time: the last
// entry of the snapshot that comes, or of the one that has come already.
type errorFoundMsg struct{ at time.Time }

// toError puts the cursor of a page on the failure at which the recording stands,
// once the snapshot of it is there.
func (m *model) toError() tea.Cmd {
	entry, ok := m.env.snap.Recent.At(m.env.snap.Recent.Len() - 1)
	if !ok || m.errorAt.IsZero() || !entry.At.Equal(m.errorAt) {
		return nil
	}
	m.errorAt = time.Time{}
	to := eventSubject(entry.Event, entry.Seq)
	if m.shown == pageTimeline {
		to.kind = onEvent
	}
	said := say("An error: " + state.Describe(entry.Event))
	switch m.shown {
	case pageControllers, pageQueues, pageWrites, pageTimeline:
		if cmd, ok := m.page().focus(to, m.env); ok {
			return tea.Batch(cmd, said)
		}
	}
	return said
}

// moving moves a recording; the journal brings what is there.
func moving(move func() error) tea.Cmd {
	return func() tea.Msg {
		if err := move(); err != nil {
			return sayMsg{text: "move in the recording: " + err.Error(), bad: true}
		}
		return nil
	}
}

// The speeds of a replay.
const (
	minSpeed = 0.1
	maxSpeed = 100
)
