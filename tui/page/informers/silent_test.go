package informers

import (
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A watch that is there and brings nothing any more is not a good one.
func TestSilentWatch(t *testing.T) {
	e := &page.Env{Now: tuitest.Now()}
	ago := func(d time.Duration) time.Time { return e.Now.Add(-d) }
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
