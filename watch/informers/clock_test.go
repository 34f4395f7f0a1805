package informers

import (
	"sync/atomic"
	"testing"
	"time"
)

// The clock of the machine jumps, as when it is set or after a suspend: a server that
// falls silent afterwards is noticed all the same, and one that answers is not lost.
func TestClockJumps(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for connections that are silent for seconds")
	}
	for name, jump := range map[string]time.Duration{"back": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, pod("shop", "web"))
			var offset atomic.Int64
			set, _ := newSet(t, s, Options{Heartbeat: 20 * time.Millisecond, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
			h := open(t, set, pods, Metadata)
			until(t, "it is synced", synced(h))
			offset.Store(int64(jump))
			asked := s.asked("probe /version")
			until(t, "the silent server is asked for a sign", func() bool { return s.asked("probe /version") > asked })
			if contact := set.Contact(); !contact.Lost.IsZero() {
				t.Errorf("the server is taken for lost: %s", contact.Reason)
			}
			s.change(func() { s.dead = true })
			until(t, "the loss is noticed", func() bool { return !set.Contact().Lost.IsZero() })
			s.change(func() { s.dead = false })
			until(t, "the server is back", func() bool { return set.Contact().Lost.IsZero() })
		})
	}
}
