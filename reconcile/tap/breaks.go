package tap

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Breakpoint makes a controller stop by itself: it is paused as by Pause when a
// worker asks for a key, or when it is about to write. Syncs under way go on
// until they write themselves.
type Breakpoint struct {
	// Number is Break's answer.
	Number     int
	Controller string
	// Key is a pattern as of path.Match, on the queue key; empty for any. A write
	// that is made in no sync has no key, and matches an empty pattern only.
	Key         string
	BeforeWrite bool
	// Removed: it stops nothing any more, but what it holds is still there.
	Removed bool
	// Held are what stands here, the first first.
	Held []Held
}

// Held is a key or a write that stands at a breakpoint until it is stepped, its
// controller resumed or stopped, or the key dropped or the request given up.
type Held struct {
	Queue, Key string
	// Sync is that of the write; zero for a key, and for a write in no sync.
	Sync uint64
	// Write says what is to be written: "create pods shop/web"; empty for a key.
	Write string
	Since time.Time
}

// breaks are the breakpoints of a Tap. Its lock is taken with a queue's held,
// and takes no other.
type breaks struct {
	armed atomic.Bool // points is not empty

	// rec is told under mu, so that its entries are in the order of what happened.
	rec state.Recorder

	mu     sync.Mutex
	last   int
	holds  uint64 // the number of the last hold
	points []*point
	ended  map[string]bool // controllers whose queues are shut down
}

type point struct {
	number              int
	controller, pattern string
	beforeWrite         bool
	removed             bool
	held                []*hold
}

// changed is the breakpoint for the journal.
func (p *point) changed() state.BreakpointChanged {
	return state.BreakpointChanged{Number: p.number, Controller: p.controller, Key: p.pattern, BeforeWrite: p.beforeWrite, Removed: p.removed}
}

type hold struct {
	Held
	number uint64
	// through is given the word on a write; nil for a key.
	through chan error
}

// hit is the hold for the journal.
func (h *hold) hit(p *point) state.BreakpointHit {
	return state.BreakpointHit{
		Hold: h.number, Breakpoint: p.number, Controller: p.controller,
		Queue: h.Queue, Key: h.Key, Sync: h.Sync, Write: h.Write, Since: h.Since.UTC(),
	}
}

// add holds something at a breakpoint. The caller holds mu.
func (bs *breaks) add(p *point, h *hold) {
	bs.holds++
	h.number = bs.holds
	p.held = append(p.held, h)
	bs.rec.Record(h.hit(p))
}

// maxBreakpoints bounds the breakpoints of a Tap.
const maxBreakpoints = 500

// Break sets a breakpoint and returns its number.
func (t *Tap) Break(b Breakpoint) (int, error) {
	if _, err := path.Match(b.Key, ""); err != nil {
		return 0, fmt.Errorf("break on key %q: %w", b.Key, err)
	}
	bs := &t.breaks
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if len(bs.points) >= maxBreakpoints {
		return 0, fmt.Errorf("break on key %q: there are %d breakpoints already, which is the limit", b.Key, maxBreakpoints)
	}
	bs.last++
	p := &point{number: bs.last, controller: b.Controller, pattern: b.Key, beforeWrite: b.BeforeWrite}
	bs.points = append(bs.points, p)
	bs.armed.Store(true)
	bs.rec.Record(p.changed())
	return bs.last, nil
}

// Unbreak removes a breakpoint. What it holds stays held until it is stepped or
// the controller resumed.
func (t *Tap) Unbreak(number int) error {
	bs := &t.breaks
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, p := range bs.points {
		if p.number == number && !p.removed {
			p.removed = true
			bs.rec.Record(p.changed())
			bs.sweep()
			return nil
		}
	}
	return fmt.Errorf("there is no breakpoint %d", number)
}

// Breakpoints lists the breakpoints in force and those that hold something, by
// number.
func (t *Tap) Breakpoints() []Breakpoint {
	bs := &t.breaks
	if !bs.armed.Load() {
		return nil
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	out := make([]Breakpoint, len(bs.points))
	for i, p := range bs.points {
		out[i] = Breakpoint{Number: p.number, Controller: p.controller, Key: p.pattern, BeforeWrite: p.beforeWrite, Removed: p.removed}
		for _, h := range p.held {
			out[i].Held = append(out[i].Held, h.Held)
		}
	}
	return out
}

// errEnding is what a held write comes to when its controller stops.
var errEnding = errors.New("it stood at a breakpoint when its controller was stopped")

// BeforeWrite waits where a breakpoint stops the controller before a write. The
// goroutine that writes calls it, without a lock that others need; write says
// what is to be written, and is asked only then. An error means that the write
// must not be made: ctx is done, or the controller's queues were shut down.
//
// The first write that is held pauses the controller. Step of its key lets this
// one write go, the next of the same sync is held again; Resume lets all go.
func (t *Tap) BeforeWrite(ctx context.Context, controller string, cause state.Cause, write func() string) error {
	if !t.breaks.armed.Load() {
		return nil
	}
	h := t.breaks.holdWrite(controller, cause, write, time.Now)
	if h == nil {
		return nil
	}
	t.pauseHolding(controller)
	select {
	case err := <-h.through:
		return err
	case <-ctx.Done():
		t.breaks.letGo(func(_ *point, other *hold) bool { return other == h }, state.HoldCanceled, nil)
		return fmt.Errorf("it stood at a breakpoint: %w", context.Cause(ctx))
	}
}

// pauseHolding pauses a controller that has been stopped by a breakpoint, unless
// it was resumed meanwhile.
func (t *Tap) pauseHolding(controller string) {
	t.pausing.Lock()
	defer t.pausing.Unlock()
	if number := t.breaks.holding(controller); number != 0 {
		t.pause(controller, true)
		t.recordPause(controller, true, number)
	}
}

// holdWrite holds a write at the first breakpoint that it meets.
func (bs *breaks) holdWrite(controller string, cause state.Cause, write func() string, now func() time.Time) *hold {
	key := ""
	if cause.Kind == state.CauseSync && cause.Controller == controller {
		key = cause.Key
	}
	bs.mu.Lock()
	p := bs.meets(controller, key, true)
	bs.mu.Unlock()
	if p == nil {
		return nil
	}
	h := &hold{Held: Held{Write: write(), Since: now()}, through: make(chan error, 1)}
	if key != "" {
		h.Queue, h.Key, h.Sync = cause.Queue, key, cause.Sync
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	// It may have been removed, or the controller stopped, meanwhile.
	if p = bs.meets(controller, key, true); p == nil {
		return nil
	}
	bs.add(p, h)
	return h
}

// holdKey holds a key at the first breakpoint that it meets; false where it meets
// none.
func (bs *breaks) holdKey(controller, queue, key string, now time.Time) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	p := bs.meets(controller, key, false)
	if p == nil {
		return false
	}
	bs.add(p, &hold{Held: Held{Queue: queue, Key: key, Since: now}})
	return true
}

// holding is the number of the breakpoint that holds something of a controller; zero
// where none does.
func (bs *breaks) holding(controller string) int {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, p := range bs.points {
		if p.controller == controller && len(p.held) > 0 {
			return p.number
		}
	}
	return 0
}

func (bs *breaks) meets(controller, key string, write bool) *point {
	if bs.ended[controller] {
		return nil
	}
	for _, p := range bs.points {
		if p.removed || p.controller != controller || p.beforeWrite != write {
			continue
		}
		if match, _ := path.Match(p.pattern, key); p.pattern == "" || match && key != "" {
			return p
		}
	}
	return nil
}

// letGo lets go what is chosen; writes with err. It reports whether there was
// any.
func (bs *breaks) letGo(chosen func(*point, *hold) bool, outcome state.HoldOutcome, err error) bool {
	if !bs.armed.Load() {
		return false
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	found := false
	for _, p := range bs.points {
		p.held = slices.DeleteFunc(p.held, func(h *hold) bool {
			if !chosen(p, h) {
				return false
			}
			found = true
			bs.rec.Record(state.BreakpointReleased{
				Hold: h.number, Breakpoint: p.number, Controller: p.controller,
				Queue: h.Queue, Key: h.Key, Write: h.Write, Outcome: outcome,
			})
			if h.through != nil {
				h.through <- err
			}
			return true
		})
	}
	bs.sweep()
	return found
}

// sweep forgets removed breakpoints that hold nothing.
func (bs *breaks) sweep() {
	bs.points = slices.DeleteFunc(bs.points, func(p *point) bool { return p.removed && len(p.held) == 0 })
	bs.armed.Store(len(bs.points) > 0)
}

// stepWrite lets the oldest held write of a key go; false where there is none.
func (bs *breaks) stepWrite(controller, queue, key string) bool {
	done := false
	return bs.letGo(func(p *point, h *hold) bool {
		if done || p.controller != controller || h.through == nil || h.Queue != queue || h.Key != key {
			return false
		}
		done = true
		return true
	}, state.HoldStepped, nil)
}

// keyGone is called when a held key was taken or dropped.
func (bs *breaks) keyGone(controller, queue, key string, outcome state.HoldOutcome) {
	bs.letGo(func(p *point, h *hold) bool {
		return p.controller == controller && h.through == nil && h.Queue == queue && h.Key == key
	}, outcome, nil)
}

// resume lets all go that is held of a controller.
func (bs *breaks) resume(controller string) {
	bs.letGo(func(p *point, _ *hold) bool { return p.controller == controller }, state.HoldResumed, nil)
}

// end lets nothing of a controller be held any more: its queues are shut down.
func (bs *breaks) end(controller string) {
	bs.mu.Lock()
	if bs.ended == nil {
		bs.ended = map[string]bool{}
	}
	bs.ended[controller] = true
	bs.mu.Unlock()
	bs.letGo(func(p *point, _ *hold) bool { return p.controller == controller }, state.HoldStopped, errEnding)
}

// begin is called when a queue of a controller is attached.
func (bs *breaks) begin(controller string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	delete(bs.ended, controller)
}
