package tui

import (
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestInformersPage(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	s.press("3").golden("informers-80x24")
	s.press(":", "type:pods", "enter").golden("cache-80x24")
	s.press("/", "type:web", "enter").has("filter: web", "web-").golden("cache-filtered-80x24")
	s.press("esc").hasNot("filter: web")
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
	s.env.connecting = true
	s.carryOut(s.openFirst())
	s.has("Connecting")
	s.send(connectedMsg{set: func(*Options) {}})
	s.has("Informers › cache of pods")
}

// A watch that is there and brings nothing any more is not a good one.
func TestSilentWatch(t *testing.T) {
	snap := shop(t, 0)
	e := newScreen(t, shopOptions(snap), snap, 80, 24).env
	ago := func(d time.Duration) time.Time { return e.now.Add(-d) }
	for name, c := range map[string]struct {
		stats state.StoreStats
		want  string
	}{
		"a bookmark a minute ago":      {state.StoreStats{Synced: true, LastBookmark: ago(time.Minute), LastMoved: ago(time.Hour)}, "synced"},
		"an event a minute ago":        {state.StoreStats{Synced: true, LastBookmark: ago(time.Hour), LastEvent: ago(time.Minute)}, "synced"},
		"nothing for four":             {state.StoreStats{Synced: true, LastBookmark: ago(4 * time.Minute), LastEvent: ago(5 * time.Minute)}, "SILENT"},
		"its server sends no bookmark": {state.StoreStats{Synced: true, LastMoved: ago(time.Hour), LastEvent: ago(time.Hour)}, "synced"},
		"a list under way":             {state.StoreStats{LastBookmark: ago(time.Hour)}, "listing"},
		"it was stopped":               {state.StoreStats{Synced: true, Status: state.InformerStopped, LastBookmark: ago(time.Hour)}, "stopped"},
		"it fails":                     {state.StoreStats{Synced: true, Status: state.InformerFailed, LastBookmark: ago(time.Hour)}, "FAILED"},
	} {
		if got := informerState(e, c.stats).Text(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
