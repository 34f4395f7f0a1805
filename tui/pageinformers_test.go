package tui

import (
	"testing"
)

func TestInformersPage(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	s.press("3").golden("informers-80x24")
	s.press(":", "type:pods", "enter").golden("cache-80x24")
	s.press("/", "type:web", "enter").has("/web", "web-").golden("cache-filtered-80x24")
	s.press("esc").hasNot("/web")
	s.press("enter").has("as the cache holds it")
	s.press("esc", "esc").has("Informers:")

	wide := newScreen(t, shopOptions(snap), snap, 200, 60)
	wide.press("3").golden("informers-200x60")
	wide.press(":", "type:pods", "enter").golden("cache-200x60")
}

// The type named at the start is opened at once from a journal, and from a cluster
// when there is a connection.
func TestOpensTheTypeNamedAtTheStart(t *testing.T) {
	snap := shop(t, 0)
	o := shopOptions(snap)
	o.Open = "pods"
	s := newScreen(t, o, snap, 80, 24)
	s.carryOut(s.openFirst())
	s.has("Informers › cache of pods", "web-")
	s.press("esc").has("Informers: ")

	s = newScreen(t, o, snap, 80, 24)
	s.env.Connecting = true
	s.carryOut(s.openFirst())
	s.has("Connecting")
	s.send(connectedMsg{set: func(*Options) {}})
	s.has("Informers › cache of pods")
}
