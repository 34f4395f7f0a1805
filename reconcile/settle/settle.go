// Package settle knows when the loops have come to rest.
//
// Rest is established, not guessed from silence: nothing stands ready or is
// being processed in any queue, no handler is at work, no key is due within the
// horizon, every write that reached the server has come back to all handlers on
// its type, and every probe (the scheduler, the simulated nodes, the
// provisioner) says that it has nothing to do.
//
// Keys due later do not keep the loops from being at rest; they are listed.
// Work that upstream does in tickers, without a queue, does not count: it never
// ends.
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
	// Retries is not zero where the key waits out a back-off.
	Retries int
}

// Activity is what moves in the queues at one moment.
type Activity struct {
	// Moving lists in words what is ready, being processed or being delivered.
	Moving []string
	// Waiting lists the keys held back.
	Waiting []Due
	// Generation rises with every change of the two.
	Generation uint64
}

// Loops is what settle asks of the taps. Its methods are called from one
// goroutine at a time.
type Loops interface {
	Deliveries
	Activity() Activity
	// Changed is closed at the next change.
	Changed() <-chan struct{}
}

// Probe is a part of the cluster that works without a tapped queue.
type Probe interface {
	// Busy says in words what it has still to do; empty means idle.
	Busy() []string
}

// ProbeFunc is a function as a Probe.
type ProbeFunc func() []string

// Busy calls f.
func (f ProbeFunc) Busy() []string { return f() }

// Settler puts the parts together.
type Settler struct {
	Loops  Loops
	Writes *Writes
	Probes []Probe
	// Horizon is how far ahead a key may be due and still count as moving.
	Horizon time.Duration
	// Now may be nil for the wall clock.
	Now func() time.Time
}

// Look says what moves now, in words, and which keys are due after the horizon,
// soonest first. Nothing moves only if busy is empty and the two looks it takes
// saw no change between them.
func (s *Settler) Look() (busy []string, later []Due) {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	writes, written := s.Writes.look(s.Loops)
	before := s.Loops.Activity()
	for _, probe := range s.Probes {
		busy = append(busy, probe.Busy()...)
	}
	after := s.Loops.Activity()
	busy = append(append(busy, writes...), after.Moving...)
	edge := now().Add(s.Horizon)
	for _, due := range after.Waiting {
		if due.At.Before(edge) {
			busy = append(busy, fmt.Sprintf("%s: %s is due in %s", due.Controller, due.Key, due.At.Sub(now()).Round(time.Millisecond)))
		} else {
			later = append(later, due)
		}
	}
	if again, still := s.Writes.look(s.Loops); len(busy) == 0 && (before.Generation != after.Generation || written != still || len(again) > 0) {
		busy = append(busy, "something moved while this was looked at")
	}
	slices.SortStableFunc(later, func(a, b Due) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Key, b.Key))
	})
	return busy, later
}

// pollEvery is how often the probes are asked, which cannot announce a change.
const pollEvery = 10 * time.Millisecond

// Wait returns the keys due later once the loops have come to rest. When ctx
// ends first, the error is a [*MovingError] that wraps its cause.
func (s *Settler) Wait(ctx context.Context) ([]Due, error) {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	for {
		loops, writes := s.Loops.Changed(), s.Writes.Changed()
		busy, later := s.Look()
		if len(busy) == 0 {
			return later, nil
		}
		timer.Reset(pollEvery)
		select {
		case <-ctx.Done():
			return later, &MovingError{Busy: busy, Cause: context.Cause(ctx)}
		case <-timer.C:
			continue
		case <-loops:
		case <-writes:
		}
		// A burst of changes is looked at once: wait out the rest of the
		// interval before the next look.
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// MovingError says that time ran out, and on what.
type MovingError struct {
	// Busy is what still moved, in words.
	Busy  []string
	Cause error
}

func (e *MovingError) Error() string {
	if len(e.Busy) == 1 {
		return "the loops have not come to rest: " + e.Busy[0]
	}
	return fmt.Sprintf("the loops have not come to rest: %s and %d more", e.Busy[0], len(e.Busy)-1)
}

func (e *MovingError) Unwrap() error { return e.Cause }
