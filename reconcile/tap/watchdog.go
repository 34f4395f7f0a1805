package tap

import (
	"context"
	"maps"
	"time"

	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Idle returns how many workers of a controller wait in Get, by queue. A queue
// that is not attached is missing.
func (t *Tap) Idle(controller string) map[string]int {
	t.mu.RLock()
	qs := t.queues[controller]
	t.mu.RUnlock()
	idle := map[string]int{}
	for _, q := range qs {
		idle[q.queueName()] = q.idleWorkers()
	}
	return idle
}

// StallLimit is how long a key may be ready while a worker of its queue is idle.
// A worker is woken by the call that makes the key ready.
const StallLimit = 2 * time.Second

// WatchForStalls looks at every queue each time ticks has a value, and records a
// QueueStalled, and logs it with ctx's logger, where a key has been ready for
// longer than StallLimit although a worker is idle; another one, Resumed, when
// that is over. It returns when ctx is done. A key that a pause, a breakpoint, a
// step or a filter holds back is not stalled.
//
// A stall is a defect: a key has come into upstream's queue without the
// decorator, which then wakes nobody. The time counts from the first look at
// it. After a gap between two ticks, as when the process was stopped, it counts
// again from the next look, so that workers get the time to wake.
func (t *Tap) WatchForStalls(ctx context.Context, ticks <-chan time.Time) {
	seen := map[tapped]*stall{}
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks:
			last = t.lookAgain(ctx, seen, last, now)
		}
	}
}

// stall is a queue that was seen stalled, from the first look on.
type stall struct {
	event state.QueueStalled
	// began is when the key became ready, zero where that is not known, and seen
	// when the stall was seen first.
	began, seen time.Time
	told        bool
}

// lookAgain is one look at every queue; last is what the one before returned.
func (t *Tap) lookAgain(ctx context.Context, seen map[tapped]*stall, last, now time.Time) time.Time {
	if !last.IsZero() && now.Sub(last) > StallLimit {
		maps.DeleteFunc(seen, func(_ tapped, s *stall) bool { return !s.told })
	}
	for _, q := range t.all() {
		event, stalled := q.stalled()
		s := seen[q]
		if s != nil && (!stalled || event.Key != s.event.Key || !event.Since.Equal(s.began)) {
			if s.told {
				s.event.Resumed = true
				t.rec.Record(s.event)
			}
			delete(seen, q)
			s = nil
		}
		switch {
		case !stalled:
		case s == nil:
			seen[q] = &stall{event: event, began: event.Since, seen: now}
		case !s.told && now.Sub(s.seen) >= StallLimit:
			if event.Since.IsZero() {
				event.Since = s.seen
			}
			s.event, s.told = event, true
			t.rec.Record(event)
			klog.FromContext(ctx).Error(nil, "Queue stalled: a key is ready while workers are idle",
				"controller", event.Controller, "queue", event.Queue, "key", event.Key, "ready", event.Ready, "idle", event.Idle)
		}
	}
	return now
}

func (q *queue[K]) idleWorkers() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.idle
}

// stalled reports whether a key is ready now although a worker is idle. The
// event has no key where the decorator does not know which one it is.
func (q *queue[K]) stalled() (state.QueueStalled, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ready := q.orig.length()
	if q.down || q.paused || q.idle == 0 || ready == 0 {
		return state.QueueStalled{}, false
	}
	event := state.QueueStalled{Controller: q.controller, Queue: q.name, Ready: ready, Idle: q.idle}
	var first *entry[K]
	for _, e := range q.entries {
		if e.ready && e.run == nil && (first == nil || e.since.Before(first.since)) {
			first = e
		}
	}
	if first != nil {
		event.Key, event.Since = first.name, first.since
	}
	return event, true
}
