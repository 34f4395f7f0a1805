package tui

import (
	"errors"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// action is one thing that a key does. The dispatcher, the footer and the help
// are made of the same actions.
type action struct {
	// keys as Bubble Tea names them; the first is shown.
	keys []string
	// label is a word for the footer, empty for what is only in the help.
	label string
	// always: the footer shows it, whatever else has to go.
	always bool
	// help is a sentence.
	help string
	// off says why it cannot be done now; empty where it can.
	off string
	do  func() tea.Cmd
}

// keyName is how a key is shown.
func keyName(key string) string {
	switch key {
	case "enter":
		return "⏎"
	case "left":
		return "←"
	case "right":
		return "→"
	case " ":
		return "space"
	}
	return key
}

// find gives the action of a key.
func find(actions []action, key string) (action, bool) {
	for _, a := range actions {
		if slices.Contains(a.keys, key) {
			return a, true
		}
	}
	return action{}, false
}

// footer draws the keys in force as far as they fit: those of the page first, but
// never without those that are always shown.
func footer(t *widget.Theme, actions []action, w int) string {
	shown := func(a action) bool { return a.label != "" && a.off == "" }
	wide := func(a action) int { return len([]rune(keyName(a.keys[0]))) + 1 + len(a.label) + 2 }
	l := widget.Line{widget.Text.Of(" ")}
	used := 1
	for _, a := range actions {
		if a.always && shown(a) {
			used += wide(a)
		}
	}
	for _, a := range actions {
		if !shown(a) || !a.always && used+wide(a) > w {
			continue
		}
		key := keyName(a.keys[0])
		if !a.always {
			used += wide(a)
		}
		l = append(l, widget.BarKey.Of(key), widget.Bar.Of(" "+a.label+"  "))
	}
	return l.Draw(t, w, false, widget.Text)
}

func firstOf(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// errNothing is what an action without a subject complains of.
var errNothing = errors.New("the cursor is on nothing")
