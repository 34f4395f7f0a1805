package tap

import (
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Pause makes the workers of a controller wait at their next Get. Syncs under
// way go on; keys gather in the queues as before.
func (t *Tap) Pause(controller string) {
	t.pausing.Lock()
	defer t.pausing.Unlock()
	t.pause(controller, true)
	t.recordPause(controller, true, 0)
}

// recordPause tells the journal of a pause or its end, once. The caller holds pausing.
func (t *Tap) recordPause(controller string, on bool, breakpoint int) {
	if _, was := t.pauses[controller]; was == on {
		return
	}
	e := state.PauseChanged{Controller: controller, Paused: on, Breakpoint: breakpoint, Since: time.Now().UTC()}
	delete(t.pauses, controller)
	if on {
		t.pauses[controller] = e
	}
	t.rec.Record(e)
}

// Restate records again which controllers are paused, which breakpoints there are
// and what they hold, after entries of the journal were lost.
func (t *Tap) Restate() {
	t.pausing.Lock()
	defer t.pausing.Unlock()
	bs := &t.breaks
	bs.mu.Lock()
	defer bs.mu.Unlock()
	t.rec.Record(state.ControlsRestated{Source: state.SourceBreakpoints})
	for _, controller := range slices.Sorted(maps.Keys(t.pauses)) {
		t.rec.Record(t.pauses[controller])
	}
	for _, p := range bs.points {
		for _, h := range p.held {
			t.rec.Record(h.hit(p))
		}
		t.rec.Record(p.changed())
	}
}

// Resume ends a Pause, and lets go what breakpoints hold of the controller.
func (t *Tap) Resume(controller string) {
	t.pausing.Lock()
	defer t.pausing.Unlock()
	t.breaks.resume(controller)
	t.pause(controller, false)
	t.recordPause(controller, false, 0)
}

// Paused reports whether a controller is paused, or was stopped by a breakpoint.
func (t *Tap) Paused(controller string) bool {
	t.mu.RLock()
	qs := t.queues[controller]
	t.mu.RUnlock()
	for _, q := range qs {
		if q.isPaused() {
			return true
		}
	}
	return t.breaks.holding(controller) != 0
}

func (t *Tap) pause(controller string, on bool) {
	t.mu.RLock()
	qs := t.queues[controller]
	t.mu.RUnlock()
	for _, q := range qs {
		q.pause(on)
	}
}

// Step lets one key of a paused controller through to a worker, ahead of the
// others. A delayed key becomes ready for that. To step a key again that no
// worker has taken yet changes nothing. It fails if the controller is
// not paused, if the queue does not hold the key, or if the key is being
// processed.
//
// A key whose sync is held before a write is stepped over that write. The empty
// queue and key stand for the writes that are made in no sync.
func (t *Tap) Step(controller, queue, key string) error {
	if t.breaks.stepWrite(controller, queue, key) {
		return nil
	}
	return t.control(controller, queue, key, "step", tapped.step)
}

// RetryNow makes a delayed key ready at once. It fails if the key is not
// delayed.
func (t *Tap) RetryNow(controller, queue, key string) error {
	return t.control(controller, queue, key, "retry", tapped.retryNow)
}

// Drop takes a key out of its queue, with its retry count: whatever it was
// added for is not done until it is added again. A key being processed is not
// processed again. It fails if the queue holds nothing to drop.
func (t *Tap) Drop(controller, queue, key string) error {
	return t.control(controller, queue, key, "drop", tapped.drop)
}

func (t *Tap) control(controller, queue, key, verb string, do func(tapped, string) error) error {
	q, err := t.find(controller, queue)
	if err == nil {
		err = do(q, key)
	}
	if err != nil {
		return fmt.Errorf("%s %q in queue %s of %s: %w", verb, key, queue, controller, err)
	}
	return nil
}

var (
	errNotHeld    = errors.New("the queue does not hold it")
	errProcessing = errors.New("it is being processed")
	errNotDelayed = errors.New("it is not delayed")
	errNotPaused  = errors.New("the controller is not paused")
)

func (q *queue[K]) queueName() string { return q.name }

func (q *queue[K]) isPaused() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.paused
}

func (q *queue[K]) pause(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.paused == on {
		return
	}
	q.paused = on
	q.next = nil
	if !on && q.held != nil {
		q.held, q.exempt = nil, q.held
	}
	q.cond.Broadcast()
	q.tap.changed.notify()
}

// named returns the entry of the key that is described so. Where several are,
// as pointers may be, it prefers one that fits.
func (q *queue[K]) named(key string, fits func(*entry[K]) bool) *entry[K] {
	var found *entry[K]
	for _, e := range q.entries {
		if e.name != key {
			continue
		}
		if fits(e) {
			return e
		}
		found = e
	}
	return found
}

func (q *queue[K]) step(key string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.named(key, func(e *entry[K]) bool { return e.run == nil })
	switch {
	case !q.paused:
		return errNotPaused
	case e == nil:
		return errNotHeld
	case e.run != nil:
		return errProcessing
	}
	switch {
	case e.ready:
	case e.aside:
		q.readmit(e)
	default:
		q.hurry(e)
	}
	if !slices.Contains(q.next, e.item) {
		q.next = append(q.next, e.item)
		q.cond.Signal()
	}
	q.tap.changed.notify()
	return nil
}

func (q *queue[K]) retryNow(key string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.named(key, func(e *entry[K]) bool { return e.index >= 0 })
	if e == nil || e.index < 0 {
		return errNotDelayed
	}
	q.hurry(e)
	return nil
}

// hurry makes a delayed key ready, on the user's behalf.
func (q *queue[K]) hurry(e *entry[K]) {
	now := time.Now()
	q.ripen(e, now, state.Cause{Kind: state.CauseUser, Controller: q.controller})
	q.setAlarm(now)
	q.tap.changed.notify()
}

func (q *queue[K]) drop(key string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.named(key, func(e *entry[K]) bool { return e.ready || e.aside || e.index >= 0 })
	switch {
	case e == nil:
		return errNotHeld
	case !e.ready && !e.aside && e.index < 0:
		return errProcessing
	}
	q.discard(e)
	q.release(e)
	return nil
}

// discard takes the key of e out of the delayed and the ready ones. A dirty
// key that is still being processed is discarded at its Done.
func (q *queue[K]) discard(e *entry[K]) {
	if e.index >= 0 {
		heap.Remove(&q.waiting, e.index)
		q.setAlarm(time.Now())
	}
	q.notAside(e)
	if e.ready && e.run != nil {
		e.dropped = true
		return
	}
	if e.ready && q.extract(e.item) {
		q.orig.done(e.item)
		e.ready = false
		q.next = slices.DeleteFunc(q.next, func(item K) bool { return item == e.item })
		q.unhold(e, state.HoldDropped)
	}
	if q.orig.limiter != nil {
		q.orig.limiter.Forget(e.item)
	}
	q.tap.rec.Record(state.KeyDropped{Controller: q.controller, Queue: q.name, Key: e.name, By: state.ByUser})
	q.tap.changed.notify()
}

// extract gets item from the original out of turn, so that it counts as being
// processed there. The others keep their order. It reports whether item was
// there.
func (q *queue[K]) extract(item K) bool {
	if q.down {
		return false // what is taken out could not be put back
	}
	if e := q.hand; e != nil && e.item == item {
		q.hand = nil
		return true
	}
	all := make([]K, 0, q.orig.length())
	for range cap(all) {
		k, _ := q.orig.get()
		all = append(all, k)
	}
	found := false
	for _, k := range all {
		if k == item {
			found = true
			continue
		}
		q.orig.done(k)
		q.orig.add(k)
	}
	return found
}

// running returns the sync of that number if it is under way.
func (q *queue[K]) running(sync uint64) *running {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.runs {
		if r.number == sync {
			return r
		}
	}
	return nil
}
