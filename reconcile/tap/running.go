package tap

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// running is one sync of one key, from Get to Done. It is the frame of the
// worker's goroutine meanwhile, and of what that starts.
type running struct {
	frame
	set [3]label // the memory of frame.labels

	controller, queue, key string
	number                 uint64
	began                  time.Time
	// before are the labels of the worker's goroutine outside the sync.
	before labelSet

	over    atomic.Bool // Done was called
	retried atomic.Bool // asked for a retry with back-off
	writes  atomic.Int32
	reports atomic.Int32
	first   atomic.Pointer[string] // the first error reported

	withhold atomic.Bool // see Tap.WithholdErrors
}

func (t *Tap) newRunning(controller, queue, key string, began time.Time) *running {
	r := &running{
		controller: controller,
		queue:      queue,
		key:        key,
		number:     t.syncs.Add(1),
		began:      began,
		set:        [3]label{{labelController, controller}, {labelKey, key}, {labelQueue, queue}},
	}
	r.labels, r.tap, r.source = r.set[:], t, r
	return r
}

func (r *running) cause() state.Cause {
	return state.Cause{
		Kind:       state.CauseSync,
		Controller: r.controller,
		Queue:      r.queue,
		Key:        r.key,
		Sync:       r.number,
	}
}

func (r *running) report(err error) {
	r.reports.Add(1)
	if r.first.Load() != nil {
		return
	}
	text := r.textOf(err)
	r.first.CompareAndSwap(nil, &text)
}

// start labels the calling goroutine with the sync.
func (r *running) start() { r.before = r.tap.enter(&r.frame) }

// stop takes the label off again, if the calling goroutine carries it.
func (r *running) stop() {
	if r.tap.current() == &r.frame {
		r.tap.leave(r.before)
	}
}

func (r *running) finished(now time.Time, dirty bool) state.KeyFinished {
	e := state.KeyFinished{
		Controller: r.controller,
		Queue:      r.queue,
		Key:        r.key,
		Sync:       r.number,
		Duration:   now.Sub(r.began),
		Failed:     r.retried.Load(),
		Writes:     int(r.writes.Load()),
		Dirty:      dirty,
	}
	if text := r.first.Load(); text != nil {
		e.Failed, e.Error = true, *text
		if more := r.reports.Load() - 1; more > 0 {
			e.Error = fmt.Sprintf("%s (and %d more)", e.Error, more)
		}
	}
	return e
}
