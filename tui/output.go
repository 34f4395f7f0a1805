package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// mostOutput is how many lines of what the command prints are shown.
const mostOutput = 1000

func (m *model) noCommand() string {
	if m.env.Command == nil {
		return page.FirstOf(m.env.Missing, "only 'exec --tui' has a command")
	}
	return ""
}

// watchCommand waits for the end of the command, which is known once there are parts.
func (m *model) watchCommand() tea.Cmd {
	command, ctx := m.env.Command, m.env.Ctx
	if command == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case <-command.Ended():
			return commandEndedMsg{}
		case <-ctx.Done():
			return nil
		}
	}
}

// commandHasEnded says so for as long as the screen is up. What it printed last is
// shown where it failed, unless the user is at something else.
func (m *model) commandHasEnded() tea.Cmd {
	how, failed := m.env.Command.How()
	m.commandEnded = "THE COMMAND " + how + "; X shows what it printed, q leaves"
	if failed && m.text == nil && m.approvals == nil && m.prompt == nil && m.confirm == nil {
		return m.output()
	}
	return m.followOutput()
}

// output opens what the command prints.
func (m *model) output() tea.Cmd {
	if m.text != nil && m.text.isOutput {
		return nil
	}
	return m.readOutput()
}

// followOutput reads it anew while it is open.
func (m *model) followOutput() tea.Cmd {
	if m.text == nil || !m.text.isOutput {
		return nil
	}
	read := m.readOutput()
	return func() tea.Msg {
		msg := read().(outputMsg)
		msg.again = true
		return msg
	}
}

func (m *model) readOutput() tea.Cmd {
	command := m.env.Command
	return func() tea.Msg {
		file, lines, err := command.Output(mostOutput)
		var out []widget.Line
		for _, text := range lines {
			out = append(out, widget.Line{widget.Text.Of(" " + text)})
		}
		switch {
		case err != nil:
			out = []widget.Line{{widget.Bad.Of(" read " + file + ": " + err.Error())}}
		case len(out) == 0:
			out = []widget.Line{{widget.Dim.Of(" It has printed nothing.")}}
		}
		return outputMsg{text: &widget.TextView{Title: "What the command prints: " + file, Lines: func(int) []widget.Line { return out }}}
	}
}

// showOutput puts it on the screen, at its end. Where the user has scrolled up, the
// place stays.
func (m *model) showOutput(msg outputMsg) {
	if m.text != nil && m.text.isOutput {
		atEnd := m.text.AtEnd()
		m.text.Replace(msg.text)
		if atEnd {
			m.text.ToEnd()
		}
		return
	}
	if msg.again {
		return // it was closed meanwhile
	}
	msg.text.ToEnd()
	m.over(&overlay{TextView: msg.text, isOutput: true})
}
