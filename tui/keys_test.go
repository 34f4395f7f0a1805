package tui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"
)

// Fast typing comes in one message, and pasting must not press keys.
func TestKeysThatComeTogether(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 100, 30)
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(":pods")})
	s.press("enter").has("cache of pods: 12")
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q:quit"), Paste: true})
	if s.quitting {
		t.Error("pasting has quit the program")
	}
	s.has("was ignored")
	s.press("/")
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("web"), Paste: true})
	s.press("enter").has("filter: web")
}

// A key that opens a prompt or another page is handled before the next one.
func TestAKeyIsMeantForWhatTheOneBeforeItOpened(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 100, 30)
	_, cmd := s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("?/everywhere")})
	if cmd != nil {
		t.Error("something is left to be done later")
	}
	s.has("search: everywhere")
	if _, ok := sent(func() tea.Msg { panic("called") }); ok {
		t.Error("any command passes for a message")
	}
}

// No page may take a key that means something else everywhere, or moves a cursor.
func TestNoKeyMeansTwoThings(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 100, 30)
	global := map[string]string{}
	for _, a := range s.model.actions() {
		for _, k := range a.keys {
			if global[k] != "" {
				t.Errorf("%q is %q and %q everywhere", k, global[k], a.help)
			}
			global[k] = a.help
		}
	}
	l := list{}
	for _, row := range s.table {
		own := map[string]string{}
		for _, a := range s.pages[row.id].actions(s.env) {
			if a.help == "" || len(a.keys) == 0 {
				t.Errorf("%s has a key without help: %+v", row.name, a.keys)
			}
			for _, k := range a.keys {
				switch {
				case own[k] != "":
					t.Errorf("%s: %q is %q and %q", row.name, k, own[k], a.help)
				case global[k] != "":
					t.Errorf("%s: %q is %q there and %q everywhere", row.name, k, a.help, global[k])
				case l.key(slice[int]{}, k):
					t.Errorf("%s: %q moves the cursor and is %q", row.name, k, a.help)
				}
				own[k] = a.help
			}
		}
	}
}
