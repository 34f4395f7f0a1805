package page

import (
	"errors"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// Action is one thing that a key does. The dispatcher, the footer and the help
// are made of the same actions.
type Action struct {
	// Keys as Bubble Tea names them; the first is shown.
	Keys []string
	// Label is a word for the footer, empty for what is only in the help.
	Label string
	// Always: the footer shows it, whatever else has to go.
	Always bool
	// Help is a sentence.
	Help string
	// Off says why it cannot be done now; empty where it can.
	Off string
	Do  func() tea.Cmd
}

// KeyName is how a key is shown.
func KeyName(key string) string {
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

// Find gives the action of a key.
func Find(actions []Action, key string) (Action, bool) {
	for _, a := range actions {
		if slices.Contains(a.Keys, key) {
			return a, true
		}
	}
	return Action{}, false
}

// Footer draws the keys in force as far as they fit: those of the page first, but
// never without those that are always shown.
func Footer(t *widget.Theme, actions []Action, w int) string {
	shown := func(a Action) bool { return a.Label != "" && a.Off == "" }
	wide := func(a Action) int { return len([]rune(KeyName(a.Keys[0]))) + 1 + len(a.Label) + 2 }
	l := widget.Line{widget.Text.Of(" ")}
	used := 1
	for _, a := range actions {
		if a.Always && shown(a) {
			used += wide(a)
		}
	}
	for _, a := range actions {
		if !shown(a) || !a.Always && used+wide(a) > w {
			continue
		}
		key := KeyName(a.Keys[0])
		if !a.Always {
			used += wide(a)
		}
		l = append(l, widget.BarKey.Of(key), widget.Bar.Of(" "+a.Label+"  "))
	}
	return l.Draw(t, w, false, widget.Text)
}

func FirstOf(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// ErrNothing is what an action without a subject complains of.
var ErrNothing = errors.New("no row is selected")
