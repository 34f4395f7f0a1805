package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// doing runs a command that changes something in this process, and tells what
// came of it.
func doing(what string, do func() error) tea.Cmd {
	return func() tea.Msg {
		if err := do(); err != nil {
			return sayMsg{text: what + ": " + err.Error(), bad: true}
		}
		return sayMsg{text: strings.ToUpper(what[:1]) + what[1:] + ": done."}
	}
}

// pauseOrResume turns the one into the other.
func pauseOrResume(e *env, controller string) tea.Cmd {
	loops := e.Loops
	if e.latest.Paused(controller) {
		return doing("resume "+render.ShortName(controller), func() error { return loops.Resume(controller) })
	}
	return doing("pause "+render.ShortName(controller), func() error { return loops.Pause(controller) })
}
