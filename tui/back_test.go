package tui

import (
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
)

// Who came to a page by a jump goes back by one esc, and sees what it was cut down to
// only.
func TestOneEscGoesBackWhereAJumpCameFrom(t *testing.T) {
	snap := shop(t, 0)
	for _, c := range []struct {
		from page.ID
		keys []string
		to   page.ID
	}{
		{page.Controllers, []string{"Q"}, page.Queues},
		{page.Controllers, []string{"W"}, page.Writes},
		{page.Queues, []string{"W"}, page.Writes},
		{page.Queues, []string{"T"}, page.Timeline},
		{page.Writes, []string{"T"}, page.Timeline},
	} {
		s := newScreen(t, on(shopOptions(snap), c.from), snap, 80, 24)
		s.press(c.keys...)
		if s.shown != c.to {
			t.Fatalf("%v from page %d leads to page %d", c.keys, c.from, s.shown)
		}
		s.press("esc")
		if s.shown != c.from {
			t.Errorf("%v from page %d, esc: page %d is shown", c.keys, c.from, s.shown)
		}
		// Afterwards the page is whole again.
		s.carryOut(s.model.show(c.to, true))
		if title := s.page().Title(s.env); strings.Contains(title, " of ") && c.to != page.Timeline {
			t.Errorf("page %d is still cut down: %s", c.to, title)
		}
	}
	// What was cut down by a jump and left by a number key is left by esc as ever.
	s := newScreen(t, on(shopOptions(snap), page.Controllers), snap, 80, 24)
	s.press("Q", "1", "2", "esc").has("Queues: ")
}

// A failure stays red under the cursor.
func TestTheRowUnderTheCursorKeepsItsRed(t *testing.T) {
	snap := shop(t, 0)
	o := on(shopOptions(snap), page.Writes)
	o.Theme = testTheme(t, "default", termenv.ANSI)
	s := newScreen(t, o, snap, 80, 24)
	s.press("j")
	for _, l := range strings.Split(s.View(), "\n") {
		if strings.Contains(l, "> ") && strings.Contains(l, "failed") {
			if !strings.Contains(l, "31") {
				t.Errorf("the row is not red: %q", l)
			}
			return
		}
	}
	t.Errorf("the second write is not a failed one:\n%s", s.text())
}
