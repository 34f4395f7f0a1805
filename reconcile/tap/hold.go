package tap

import (
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// ready counts the keys that may be taken.
func (q *queue[K]) ready() int {
	if q.hand != nil {
		return q.orig.length() + 1
	}
	return q.orig.length()
}

// first takes the key that is in hand, or else the first of the original. It is
// called when one of the two is there.
func (q *queue[K]) first() (item K, shutdown bool) {
	if e := q.hand; e != nil {
		q.hand = nil
		return e.item, false
	}
	return q.orig.get()
}

// hold keeps an item that was just taken in hand, and pauses the queue, where a
// breakpoint asks for it.
func (q *queue[K]) hold(item K) bool {
	e, now := q.entry(item), time.Now()
	if q.down || e == q.exempt {
		return false
	}
	if !q.tap.breaks.holdKey(q.controller, q.name, e.name, now) {
		return false
	}
	if !e.ready { // added to the original behind the decorator's back
		e.ready, e.since, e.cause, e.causes = true, now, state.Cause{Kind: state.CauseUnknown}, 1
	}
	q.paused, q.next, q.held, q.hand, q.stopped = true, nil, e, e, true
	q.tap.changed.notify()
	return true
}

// unhold forgets that e was held, or is to be let go: it was taken or dropped.
func (q *queue[K]) unhold(e *entry[K], outcome state.HoldOutcome) {
	if q.held == e {
		q.held = nil
		q.tap.breaks.keyGone(q.controller, q.name, e.name, outcome)
	}
	if q.exempt == e {
		q.exempt = nil
	}
}
