package tui

import (
	"strconv"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
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
	s.press("enter").has("/web")
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
	if _, ok := page.Sent(func() tea.Msg { panic("called") }); ok {
		t.Error("any command passes for a message")
	}
}

// No page may take a key that means something else everywhere, or moves a cursor:
// neither live nor in a replay.
func TestNoKeyMeansTwoThings(t *testing.T) {
	snap := shop(t, 0)
	live, replay := shopOptions(snap), shopOptions(snap)
	replay.Player = &stillPlayer{}
	for name, o := range map[string]Options{"live": live, "replay": replay} {
		t.Run(name, func(t *testing.T) { oneMeaning(t, newScreen(t, o, snap, 100, 30)) })
	}
}

func oneMeaning(t *testing.T, s *screen) {
	t.Helper()
	global := map[string]string{}
	for _, a := range s.model.actions() {
		for _, k := range a.Keys {
			if global[k] != "" {
				t.Errorf("%q is %q and %q everywhere", k, global[k], a.Help)
			}
			global[k] = a.Help
		}
	}
	l := widget.List{}
	for _, row := range s.table {
		own := map[string]string{}
		for _, a := range s.pages[row.id].Actions(s.env) {
			if a.Help == "" || len(a.Keys) == 0 {
				t.Errorf("%s has a key without help: %+v", row.name, a.Keys)
			}
			for _, k := range a.Keys {
				switch {
				case own[k] != "":
					t.Errorf("%s: %q is %q and %q", row.name, k, own[k], a.Help)
				case global[k] != "":
					t.Errorf("%s: %q is %q there and %q everywhere", row.name, k, a.Help, global[k])
				case l.Key(widget.Slice[int]{}, k):
					t.Errorf("%s: %q moves the cursor and is %q", row.name, k, a.Help)
				}
				own[k] = a.Help
			}
		}
	}
}

// The keys everywhere go on working over a text; a page closes it.
func TestKeysOverAText(t *testing.T) {
	snap := shop(t, 0)
	o := shopOptions(snap)
	player := &stillPlayer{}
	o.Player = player
	s := newScreen(t, o, snap, 100, 40)
	s.press("enter").has("Recent syncs", "esc close")
	s.press("?").has("Keys of this text", "Search in the text").hasNot("Show its queues")
	if s.press("?"); s.model.text.under.under != nil {
		t.Error("a help was opened over the help")
	}
	s.press("esc").has("Recent syncs").press("5").has("Tree:").hasNot("esc close")
	s.press("1", "enter", ":", "type:writes", "enter").has("Writes:").hasNot("esc close")
	s.press("1", "?", " ")
	if player.playing {
		t.Error("the space bar scrolls a text and must not play")
	}
	s.press("esc", " ")
	if !player.playing {
		t.Error("the space bar does not play")
	}
}

// A text says at once how much of it is on the screen.
func TestPlaceOfATextInItsFirstFrame(t *testing.T) {
	snap := shop(t, 0)
	newScreen(t, shopOptions(snap), snap, 80, 24).press("?").has("1–20 of ")
}

// On a narrow screen help stays in the footer, and in a replay what plays it.
func TestFooterKeepsWhatHelps(t *testing.T) {
	snap := shop(t, 0)
	o := shopOptions(snap)
	o.Loops = &fakeLoops{}
	for _, row := range pages() {
		newScreen(t, o, snap, 80, 24).press(strconv.Itoa(int(row.id))).has("? help")
	}
	o.Loops, o.Player = nil, &stillPlayer{}
	for _, row := range pages() {
		newScreen(t, o, snap, 80, 24).press(strconv.Itoa(int(row.id))).has("? help", "space play/stop", "] error")
	}
}

// What is recalled filters at once, as what is typed does.
func TestRecalledFilterShowsAtOnce(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 100, 30)
	s.press("/", "type:statefulset", "enter", "esc").has("cronjob")
	s.press("/", "up").has("statefulset").hasNot("cronjob")
}

func TestTheShortestCompletionComesFirst(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 100, 30)
	s.press(":", "type:p").has(":p    pods ")
}
