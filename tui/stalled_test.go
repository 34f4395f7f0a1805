package tui

import (
	"strconv"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A key that is ready while workers are idle is an alarm on every page, until a
// worker takes it.
func TestStalledQueueIsAnAlarm(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 100, 30)
	stalled := state.QueueStalled{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Since: s.env.Now.Add(-12 * time.Second), Ready: 1, Idle: 5}
	after := state.Fold(snap, state.Entry{Seq: snap.Seq + 1, At: s.env.Now, Event: stalled})
	s.show(after)
	for _, row := range s.table {
		s.press(strconv.Itoa(int(row.id))).has("QUEUE STALLED: deployment shop/web: a key has been ready for 12s while 5 workers are idle")
	}
	stalled.Resumed = true
	s.show(state.Fold(after, state.Entry{Seq: after.Seq + 1, At: s.env.Now, Event: stalled}))
	s.hasNot("STALLED")
}
