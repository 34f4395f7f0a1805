package page

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Doing runs a command that changes something in this process, and tells what
// came of it.
func Doing(what string, do func() error) tea.Cmd {
	return func() tea.Msg {
		if err := do(); err != nil {
			return SayMsg{Text: what + ": " + err.Error(), Bad: true}
		}
		return SayMsg{Text: strings.ToUpper(what[:1]) + what[1:] + ": done."}
	}
}

// PauseOrResume turns the one into the other.
func PauseOrResume(e *Env, controller string) tea.Cmd {
	loops := e.Loops
	if e.Latest.Paused(controller) {
		return Doing("resume "+render.ShortName(controller), func() error { return loops.Resume(controller) })
	}
	return Doing("pause "+render.ShortName(controller), func() error { return loops.Pause(controller) })
}
