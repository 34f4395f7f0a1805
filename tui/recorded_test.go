package tui

import (
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// shop is the snapshot of the recorded session after a number of its entries; all
// where it is zero.
func shop(t testing.TB, entries int) *state.Snapshot { return tuitest.Shop(t, entries) }

// shopOptions set the clock to a moment after the snapshot's last entry.
func shopOptions(s *state.Snapshot) Options {
	at := s.At.Add(1500 * time.Millisecond)
	return Options{Now: func() time.Time { return at }}
}
