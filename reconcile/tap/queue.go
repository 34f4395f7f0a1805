package tap

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// queue decorates one work queue. It has the methods of all three interfaces
// of package workqueue.
//
// Every change of the original goes through here and happens under mu, so
// entries says at any time what the original holds. Get does not wait inside
// the original but on cond.
type queue[K comparable] struct {
	tap              *Tap
	controller, name string
	describe         func(K) string
	periodic         bool
	tells            bool
	lingers          bool
	orig             original[K]

	mu      sync.Mutex
	cond    sync.Cond
	entries map[K]*entry[K]
	spare   []*entry[K]
	runs    []*running // the syncs under way
	asides  int        // how many keys a filter holds back
	idle    int        // workers that wait in Get
	down    bool
	undone  []string // keys that were delayed when it was shut down

	waiting delayed[K]
	timer   *time.Timer
	alarm   time.Time // when timer fires; zero while it is stopped

	paused bool
	next   []K // what Get hands out though paused
	// held is the key that a breakpoint stopped at; stopped says that the rest of
	// the controller has yet to be paused. exempt is a key that was held and is let
	// go: it is not held again.
	held, exempt *entry[K]
	stopped      bool
	// hand is a ready key that a breakpoint stopped: it was taken from the original
	// and is the next to be handed out. The original counts it as being processed;
	// additions to it are merged here, and do not reach the original.
	hand *entry[K]
}

// entry is what the queue knows of a key that is in it.
type entry[K comparable] struct {
	item K
	name string

	// ready: the original holds the key to be taken or, while run is set, to
	// be taken again after Done. The three fields after it belong to it.
	ready  bool
	since  time.Time
	cause  state.Cause
	causes int

	// run is the sync of the key while it is being processed.
	run *running
	// dropped: the user took the key out while it was being processed.
	dropped bool

	// aside: a filter holds the key back; see setAside. The three fields after it
	// belong to it.
	aside       bool
	asideSince  time.Time
	asideCause  state.Cause
	asideCauses int

	// index is the place in the heap of delayed keys, -1 without one; the
	// fields after it belong to it.
	index      int
	due        time.Time
	waitCause  state.Cause
	waitCauses int
}

var _ workqueue.TypedRateLimitingInterface[string] = (*queue[string])(nil)

func newQueue[K comparable](t *Tap, controller string, s Spec, describe func(K) string, orig original[K]) *queue[K] {
	q := &queue[K]{
		tap:        t,
		controller: controller,
		name:       s.name,
		describe:   describe,
		periodic:   s.periodic,
		tells:      s.tells,
		lingers:    s.lingers,
		orig:       orig,
		entries:    map[K]*entry[K]{},
	}
	q.cond.L = &q.mu
	t.breaks.begin(controller)
	q.adopt()
	return q
}

// adopt takes over the keys that the original holds already. Their cause is
// not known.
func (q *queue[K]) adopt() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range q.orig.length() {
		item, _ := q.orig.get()
		q.orig.done(item)
		q.put(q.entry(item), q.orig.add, time.Now(), state.Cause{Kind: state.CauseUnknown}, 1)
	}
}

// entry returns what is known of item, from now on if nothing was.
func (q *queue[K]) entry(item K) *entry[K] {
	if e := q.entries[item]; e != nil {
		return e
	}
	var e *entry[K]
	if n := len(q.spare); n > 0 {
		e, q.spare = q.spare[n-1], q.spare[:n-1]
	} else {
		e = new(entry[K])
	}
	e.item, e.name, e.index = item, q.describe(item), -1
	q.entries[item] = e
	return e
}

// maxSpare bounds the entries kept for reuse.
const maxSpare = 256

// release forgets e if the queue no longer holds its key.
func (q *queue[K]) release(e *entry[K]) {
	if e.ready || e.aside || e.run != nil || e.index >= 0 {
		return
	}
	delete(q.entries, e.item)
	if len(q.spare) < maxSpare {
		*e = entry[K]{}
		q.spare = append(q.spare, e)
	}
}

// put makes the key of e ready by the original's method add.
func (q *queue[K]) put(e *entry[K], add func(K), now time.Time, cause state.Cause, causes int) {
	if e != q.hand {
		add(e.item)
	}
	if e.ready {
		e.causes += causes
		return
	}
	e.ready, e.since, e.cause, e.causes = true, now, cause, causes
	if e.run == nil {
		q.cond.Signal()
	}
}

// Add is workqueue.TypedInterface's.
func (q *queue[K]) Add(item K) {
	cause, now := q.tap.Cause(), time.Now()
	q.mu.Lock()
	if q.down {
		q.mu.Unlock()
		return
	}
	e := q.entry(item)
	q.tap.rec.Record(state.KeyAdded{
		Controller: q.controller,
		Queue:      q.name,
		Key:        e.name,
		How:        byAdd,
		Merged:     e.ready,
		Cause:      cause,
	})
	q.put(e, q.orig.add, now, cause, 1)
	q.tap.changed.notify()
	q.mu.Unlock()
}

// Get is workqueue.TypedInterface's. While the queue is paused it hands out
// only what Step asked for, and otherwise what a filter lets through.
func (q *queue[K]) Get() (item K, shutdown bool) {
	// A worker that hands its keys to other goroutines, as tainteviction's
	// does, comes back still labelled with the last one.
	if r := q.tap.sync(); r != nil && r.queue == q.name && r.controller == q.controller {
		r.stop()
	}
	q.mu.Lock()
	item, ok := q.take()
	for !ok {
		if q.down {
			q.mu.Unlock()
			return item, true
		}
		if q.stopped {
			q.stopped = false
			q.mu.Unlock()
			q.tap.pauseHolding(q.controller)
			q.mu.Lock()
		} else {
			q.idle++
			q.cond.Wait()
			q.idle--
		}
		item, ok = q.take()
	}
	now := time.Now()
	e := q.entry(item)
	r := q.tap.newRunning(q.controller, q.name, e.name, now)
	taken := state.KeyTaken{
		Controller: q.controller,
		Queue:      q.name,
		Key:        e.name,
		Sync:       r.number,
		Cause:      e.cause,
		Causes:     e.causes,
	}
	if e.ready {
		taken.Waited = now.Sub(e.since)
	} else {
		// Added to the original behind the decorator's back.
		taken.Cause, taken.Causes = state.Cause{Kind: state.CauseUnknown}, 1
	}
	e.run, e.ready, e.cause, e.causes = r, false, state.Cause{}, 0
	q.unhold(e, state.HoldTaken)
	q.runs = append(q.runs, r)
	q.tap.rec.Record(taken)
	q.tap.changed.notify()
	q.mu.Unlock()
	r.start()
	return item, false
}

// take gets the next key from the original; it does not wait. That there is
// none to take now means the end of a worker only once the queue is down. After
// ShutDown a paused queue holds back what is left in it.
func (q *queue[K]) take() (item K, ok bool) {
	for len(q.next) > 0 && !q.down {
		item, q.next = q.next[0], q.next[1:]
		if q.extract(item) {
			return item, true
		}
	}
	for q.ready() > 0 && !q.paused {
		item, shutdown := q.first()
		switch {
		case shutdown:
			return item, false
		case q.setAside(item):
			continue
		case q.tap.breaks.armed.Load() && q.hold(item):
			return *new(K), false
		}
		return item, true
	}
	return *new(K), false
}

// Done is workqueue.TypedInterface's. It may be called on another goroutine
// than Get.
func (q *queue[K]) Done(item K) {
	now := time.Now()
	q.mu.Lock()
	q.orig.done(item)
	e := q.entries[item]
	if e == nil || e.run == nil {
		q.mu.Unlock()
		return
	}
	r := e.run
	e.run = nil
	i := slices.Index(q.runs, r)
	q.runs[i] = q.runs[len(q.runs)-1]
	q.runs[len(q.runs)-1] = nil
	q.runs = q.runs[:len(q.runs)-1]
	r.over.Store(true)
	q.tap.rec.Record(r.finished(now, e.ready))
	if e.ready {
		e.since = now
		q.cond.Signal()
		if e.dropped {
			q.discard(e)
		}
	}
	e.dropped = false
	q.release(e)
	q.tap.changed.notify()
	q.mu.Unlock()
	if !q.lingers {
		r.stop()
	}
}

// Len is workqueue.TypedInterface's.
func (q *queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready()
}

// ShuttingDown is workqueue.TypedInterface's.
func (q *queue[K]) ShuttingDown() bool { return q.orig.ending() }

// ShutDown is workqueue.TypedInterface's. Delayed keys are dropped.
func (q *queue[K]) ShutDown() {
	q.close()
	q.orig.shutDown()
}

// ShutDownWithDrain is workqueue.TypedInterface's. Delayed keys are dropped;
// it does not wait for the ready keys that a pause holds back.
func (q *queue[K]) ShutDownWithDrain() {
	q.close()
	q.orig.drain()
}

func (q *queue[K]) close() {
	q.mu.Lock()
	q.down = true
	q.cond.Broadcast()
	q.dropDelayed()
	if e := q.hand; e != nil {
		// A drain would wait for it.
		q.hand = nil
		q.orig.done(e.item)
		q.orig.add(e.item)
	}
	q.held, q.exempt = nil, nil
	q.tap.changed.notify()
	q.mu.Unlock()
	q.tap.breaks.end(q.controller)
}

// Forget is workqueue.TypedRateLimitingInterface's.
func (q *queue[K]) Forget(item K) {
	retries := q.retries(item)
	q.orig.limiter.Forget(item)
	if retries > 0 {
		q.tap.rec.Record(state.KeyForgotten{
			Controller: q.controller,
			Queue:      q.name,
			Key:        q.describe(item),
			Retries:    retries,
		})
	}
}

// NumRequeues is workqueue.TypedRateLimitingInterface's.
func (q *queue[K]) NumRequeues(item K) int { return q.orig.limiter.NumRequeues(item) }

// retries is the count to record; a periodic queue has none worth showing.
func (q *queue[K]) retries(item K) int {
	if q.periodic {
		return 0
	}
	return q.NumRequeues(item)
}
