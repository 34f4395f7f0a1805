package tap

import (
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Forget makes room for the same controllers to be built and attached anew. Call
// it when all that were attached have ended, and not beside Attach: their queues
// and informers are forgotten, and the keys that the queues still hold are
// recorded as dropped. What was paused is paused when it comes back; breakpoints
// and the numbers of syncs go on.
//
// Nobody follows the objects until the new informers do. The journal is told of
// that gap: what is deleted in it is not seen to go.
func (t *Tap) Forget() {
	queues := t.all()
	var names []string
	t.mu.Lock()
	for controller, qs := range t.queues {
		t.resting[controller] = slices.ContainsFunc(qs, tapped.isPaused)
	}
	for _, w := range t.informers {
		names = append(names, w.name)
	}
	clear(t.queues)
	clear(t.installed)
	clear(t.informers)
	clear(t.byType)
	t.later = nil
	t.waitsForQueue.Store(false)
	t.mu.Unlock()

	for _, q := range queues {
		q.abandon()
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t.rec.Record(state.Gap{Informer: name, Reason: "its controllers were stopped: deletions are not seen until they are started again"})
		t.rec.Record(state.InformerChanged{Informer: name, Status: state.InformerStopped, Reason: "its controllers were stopped"})
	}
	t.changed.notify()
}

// abandon records the keys that will not be processed any more.
func (q *queue[K]) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = true
	q.dropDelayed()
	left := q.undone
	for _, e := range q.entries {
		if e.ready || e.aside {
			left = append(left, e.name)
		}
	}
	q.undone = nil
	slices.Sort(left)
	for _, name := range slices.Compact(left) {
		q.tap.rec.Record(state.KeyDropped{Controller: q.controller, Queue: q.name, Key: name, By: state.ByStop})
	}
}
