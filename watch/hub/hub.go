// Package hub stores the journal of a session: it numbers and dates recorded events,
// folds them into snapshots, and distributes both.
//
//	taps, informers --Record--> hub --Next------> the latest Snapshot (TUI, get)
//	                                --Subscribe-> every Entry (run, recordings)
//
// Record never waits for a reader or a fold. One goroutine, which New starts and Close
// ends, processes recorded events in batches, about every 100 ms and only if there are
// any.
//
// Every limit counts what it drops and reports the loss at its place in the journal:
// the hub's own as a Dropped event of "hub", a subscriber's as one of "subscriber" in
// that stream. Control events (state.IsControl) have reserved capacity beyond the
// limit, because losing one would hide a write that is held. If even that is exceeded,
// the functions registered with OnControlLoss record the current state again.
package hub

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// ErrClosed is returned when waiting for news of a closed hub.
var ErrClosed = errors.New("journal closed")

// Options of a Hub. The zero value is ready for use.
type Options struct {
	// Interval is the time from the first new entry to the fold; 100 ms if zero.
	Interval time.Duration
	// Pending bounds the entries that wait for a fold; 65,536 if zero.
	Pending int
	// Reserve is the capacity for control events beyond Pending; 8,192 if zero.
	Reserve int
	// Now dates the entries; time.Now if nil. Dates never go backwards by this
	// process's clock. If the machine's clock is set back, the dates in a recording go
	// back, too: readers of recordings must not rely on their order.
	Now func() time.Time
}

// Hub is a journal. It implements state.Recorder; its methods are safe for concurrent
// use.
type Hub struct {
	interval time.Duration
	bound    int
	reserve  int
	now      func() time.Time

	mu      sync.Mutex // held by Record for an append: keep critical sections short
	pending []state.Entry
	spare   []state.Entry
	seq     uint64
	last    time.Time
	dropped uint64 // since the last batch
	// unstated: a control event was dropped, and restate has not been called yet.
	unstated bool
	restate  []func()
	closed   bool

	wake chan struct{} // buffered: something is pending
	stop chan struct{}
	done chan struct{}

	fold        sync.Mutex // serialises batches and their order
	subscribers map[*Subscription]struct{}

	view     sync.Mutex
	snapshot *state.Snapshot
	news     chan struct{} // closed and replaced with every snapshot
	final    bool
}

// New starts a hub. Call Close to end its goroutine.
func New(opts Options) *Hub {
	h := &Hub{
		interval:    opts.Interval,
		bound:       opts.Pending,
		reserve:     opts.Reserve,
		now:         opts.Now,
		wake:        make(chan struct{}, 1),
		stop:        make(chan struct{}),
		done:        make(chan struct{}),
		subscribers: map[*Subscription]struct{}{},
		snapshot:    state.NewSnapshot(state.Limits{}),
		news:        make(chan struct{}),
	}
	if h.interval <= 0 {
		h.interval = 100 * time.Millisecond
	}
	if h.bound <= 0 {
		h.bound = 1 << 16
	}
	if h.reserve <= 0 {
		h.reserve = 1 << 13
	}
	if h.now == nil {
		h.now = time.Now
	}
	go h.run()
	return h
}

// Record adds an event; it does not block. Beyond the limit, and after Close, the event
// is dropped; losses beyond the limit are counted in the journal.
func (h *Hub) Record(e state.Event) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	if room := h.bound - len(h.pending); room <= 0 && (!state.IsControl(e) || room+h.reserve <= 0) {
		h.dropped++
		h.unstated = h.unstated || state.IsControl(e)
		h.mu.Unlock()
		return
	}
	first := len(h.pending) == 0
	h.append(e)
	h.mu.Unlock()
	if first {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// OnControlLoss registers a function that records the current control state again on
// the hub, starting with a ControlsRestated. It is called on the hub's goroutine,
// without a lock of the hub, after a control event was dropped.
func (h *Hub) OnControlLoss(restate func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.restate = append(h.restate, restate)
}

// stateAgain calls the registered functions if a control event was dropped.
func (h *Hub) stateAgain() {
	h.mu.Lock()
	lost, restate := h.unstated, slices.Clone(h.restate)
	h.unstated = false
	h.mu.Unlock()
	if !lost {
		return
	}
	for _, f := range restate {
		f()
	}
}

// append numbers and dates an event. The caller holds mu.
func (h *Hub) append(e state.Event) {
	if now := h.now(); now.After(h.last) {
		h.last = now
	}
	h.seq++
	h.pending = append(h.pending, state.Entry{Seq: h.seq, At: h.last, Event: e})
}

// Snapshot returns the latest snapshot, which may be one interval old.
func (h *Hub) Snapshot() *state.Snapshot {
	h.view.Lock()
	defer h.view.Unlock()
	return h.snapshot
}

// Next waits for a snapshot with an entry after the given number. If a closed hub has
// none, it returns ErrClosed.
func (h *Hub) Next(ctx context.Context, after uint64) (*state.Snapshot, error) {
	for {
		h.view.Lock()
		snapshot, news, final := h.snapshot, h.news, h.final
		h.view.Unlock()
		switch {
		case snapshot.Seq > after:
			return snapshot, nil
		case final:
			return nil, ErrClosed
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Flush folds pending entries and returns a snapshot with everything recorded before
// the call.
func (h *Hub) Flush() *state.Snapshot {
	h.batch()
	return h.Snapshot()
}

// Close processes pending entries, wakes all waiters, and ends the hub's goroutine.
// Subscribers read the remaining entries, then io.EOF. Closing again does nothing.
func (h *Hub) Close() {
	h.mu.Lock()
	again := h.closed
	h.closed = true
	h.mu.Unlock()
	if again {
		<-h.done
		return
	}
	close(h.stop)
	<-h.done
}

func (h *Hub) run() {
	defer close(h.done)
	timer := time.NewTimer(h.interval)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-h.wake:
			timer.Reset(h.interval)
		case <-timer.C:
			h.batch()
			h.stateAgain()
		case <-h.stop:
			h.batch()
			h.finish()
			return
		}
	}
}

// batch passes pending entries to the subscribers, then folds them.
func (h *Hub) batch() {
	h.fold.Lock()
	defer h.fold.Unlock()
	entries := h.take()
	if len(entries) == 0 {
		return
	}
	for s := range h.subscribers {
		s.feed.Offer(entries)
	}
	h.publish(state.Fold(h.Snapshot(), entries...), false)
	clear(entries)
	h.mu.Lock()
	h.spare = entries[:0]
	h.mu.Unlock()
}

// take empties pending. A loss is reported at its place, after the entries kept before
// it.
func (h *Hub) take() []state.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dropped > 0 {
		h.append(state.Dropped{Where: "hub", Count: h.dropped})
		h.dropped = 0
	}
	entries := h.pending
	h.pending, h.spare = h.spare, nil
	return entries
}

func (h *Hub) publish(s *state.Snapshot, final bool) {
	h.view.Lock()
	defer h.view.Unlock()
	h.snapshot, h.final = s, final
	close(h.news)
	h.news = make(chan struct{})
}

func (h *Hub) finish() {
	h.fold.Lock()
	defer h.fold.Unlock()
	h.publish(h.Snapshot(), true)
	for s := range h.subscribers {
		s.feed.End()
	}
	clear(h.subscribers)
}
