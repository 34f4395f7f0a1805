// Package settle detects when the controllers are settled.
//
// This is verified, not guessed from silence: no key is ready or in flight in any queue, no
// handler is running, no key is due within the horizon, the watch event of every write that
// reached the server was delivered to all handlers of its type, and every probe (the
// scheduler, the simulated nodes, the provisioner) is idle. The check is made twice, because
// some work is not visible for a moment (a volume operation before its first write, a status
// that admission writes): nothing may change for 50 ms. If changes that are not work never
// stop for so long, such as the heartbeats of many nodes, one second without any work is
// sufficient.
//
// If the event of a write does not arrive for five seconds, it is no longer waited for; see
// [Writes.TakeUnconfirmed].
//
// Keys that are due later do not prevent the controllers from being settled; they are listed.
// Work that upstream does in tickers, without a queue, does not count: it never ends.
package settle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Due is a key that a queue holds back until At.
type Due struct {
	Controller string
	Queue      string
	Key        string
	At         time.Time
	// Retries is not zero if the key is in backoff.
	Retries int
}

// Activity is the state of the queues at one moment.
type Activity struct {
	// Moving lists what is ready, in flight or being delivered.
	Moving []string
	// Waiting lists the delayed keys.
	Waiting []Due
	// Generation increases with every change of the two.
	Generation uint64
}

// Loops is what settle needs from the taps. Its methods are called from one goroutine
// at a time.
type Loops interface {
	Deliveries
	Activity() Activity
	// Changed is closed at the next change.
	Changed() <-chan struct{}
}

// Probe is a part of the cluster that works without a tapped queue.
type Probe interface {
	// Busy lists what it still has to do; empty means idle.
	Busy() []string
}

// ProbeFunc is a function as a Probe.
type ProbeFunc func() []string

// Busy calls f.
func (f ProbeFunc) Busy() []string { return f() }

// Settler combines the parts.
type Settler struct {
	Loops  Loops
	Writes *Writes
	Probes []Probe
	// Horizon is the delay up to which a key counts as not idle.
	Horizon time.Duration
	// Report, if set, is called by Wait while it waits: first after 5 s, then with
	// doubling intervals; see [Pause].
	Report func(Waiting)
}

// Look returns what is not idle, and which keys are due after the horizon, earliest
// first. Of many reasons it returns the first and counts the others in a last line. The
// controllers are idle only if busy is empty and nothing changed during the check.
func (s *Settler) Look() (busy []string, later []Due) {
	l := s.look()
	if l.busy.total() == 0 && l.moved {
		l.busy.addf("state changed during the check")
	}
	return l.busy.words(), l.later
}

// glance is the result of one check.
type glance struct {
	busy  reasons
	later []Due
	// moved: nothing was busy, but something changed during the check.
	moved bool
	// loops and writes are the generations that were checked.
	loops, writes uint64
}

func (s *Settler) look() glance {
	var l glance
	writes, written := s.Writes.look(s.Loops)
	before := s.Loops.Activity()
	for _, probe := range s.Probes {
		l.busy.add(probe.Busy()...)
	}
	after := s.Loops.Activity()
	l.busy.join(writes)
	l.busy.add(after.Moving...)
	edge := time.Now().Add(s.Horizon)
	for _, due := range after.Waiting {
		if due.At.Before(edge) {
			l.busy.addf("%s: %s is due in %s", due.Controller, due.Key, time.Until(due.At).Round(time.Millisecond))
		} else {
			l.later = append(l.later, due)
		}
	}
	again, still := s.Writes.look(s.Loops)
	l.loops, l.writes = after.Generation, still
	l.moved = l.busy.total() == 0 && (before.Generation != after.Generation || written != still || again.total() > 0)
	slices.SortStableFunc(l.later, func(a, b Due) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Key, b.Key))
	})
	return l
}

// pollEvery is how often the probes are polled, which cannot report changes.
const pollEvery = 10 * time.Millisecond

// Wait returns the delayed keys once the controllers have settled; see the package
// comment. If ctx ends first, the error is a [*MovingError] that wraps its cause.
func (s *Settler) Wait(ctx context.Context) ([]Due, error) {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	var still stillness
	watch := newWatchman(time.Now())
	for {
		loops, writes := s.Loops.Changed(), s.Writes.Changed()
		l := s.look()
		now := time.Now()
		if still.confirm(l, now) {
			return l.later, nil
		}
		if s.Report != nil {
			watch.see(&l.busy, now)
			if report, due := watch.report(&l.busy, now); due {
				s.Report(report)
			}
		}
		timer.Reset(pollEvery)
		select {
		case <-ctx.Done():
			return l.later, l.moving(context.Cause(ctx))
		case <-timer.C:
			continue
		case <-loops:
		case <-writes:
		}
		// A burst of changes is checked at once: wait for the rest of the interval
		// before the next check.
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

func (l glance) moving(cause error) error {
	if l.busy.total() == 0 {
		l.busy.addf("idle, but not for long enough to be settled")
	}
	return &MovingError{Busy: l.busy.words(), Cause: cause, total: l.busy.total()}
}

// MovingError means that the controllers did not settle in time.
type MovingError struct {
	// Busy lists what was not idle; of many reasons the first, and a last line that
	// counts the others.
	Busy  []string
	Cause error

	total int
}

// Total counts everything that was not idle, including what Busy leaves out.
func (e *MovingError) Total() int { return max(e.total, len(e.Busy)) }

func (e *MovingError) Error() string {
	if more := e.Total() - 1; more > 0 {
		return fmt.Sprintf("not settled: %s and %d more", e.Busy[0], more)
	}
	return "not settled: " + e.Busy[0]
}

func (e *MovingError) Unwrap() error { return e.Cause }
