// Package feed holds the entries of a journal that one reader has not taken yet: in
// order, up to a bound, and with what was lost beyond it counted in its place.
package feed

import (
	"context"
	"io"
	"sync"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Feed is one reader's stream of a journal. A loss stands in it as a Dropped event of
// "subscriber" with the number of the last entry lost. For control events there is
// room beyond the bound.
type Feed struct {
	bound, reserve int

	mu      sync.Mutex
	buffer  []state.Entry
	lost    state.Entry // the last one lost, while losses are not told yet
	missing uint64
	ended   bool
	news    chan struct{} // buffered
}

// reserve is the room for control events beyond the bound.
const reserve = 1 << 13

// New makes a feed that holds so many entries; 65,536 where it is zero or less.
func New(bound int) *Feed {
	if bound <= 0 {
		bound = 1 << 16
	}
	return &Feed{bound: bound, reserve: reserve, news: make(chan struct{}, 1)}
}

// Next gives the entries that are there, waiting for at least one. After End it
// gives what is left and then io.EOF. The slice is the caller's. One goroutine may
// call Next.
func (f *Feed) Next(ctx context.Context) ([]state.Entry, error) {
	for {
		entries, ended := f.take()
		switch {
		case len(entries) > 0:
			return entries, nil
		case ended:
			return nil, io.EOF
		}
		select {
		case <-f.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *Feed) take() (entries []state.Entry, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tellLoss()
	entries, f.buffer = f.buffer, nil
	return entries, f.ended
}

// tellLoss puts what was lost so far into the buffer. The buffer was full from the
// first of these losses until now.
func (f *Feed) tellLoss() {
	if f.missing > 0 {
		f.buffer = append(f.buffer, state.Entry{
			Seq: f.lost.Seq, At: f.lost.At,
			Event: state.Dropped{Where: "subscriber", Count: f.missing},
		})
		f.missing, f.lost = 0, state.Entry{}
	}
}

// Offer adds entries, and never waits.
func (f *Feed) Offer(entries []state.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(entries)
}

// Restart puts entries in the place of those that were not taken yet.
func (f *Feed) Restart(entries []state.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buffer, f.missing = nil, 0
	f.add(entries)
}

func (f *Feed) add(entries []state.Entry) {
	for _, e := range entries {
		switch {
		case len(f.buffer) < f.bound:
			f.buffer = append(f.buffer, e)
			continue
		case state.IsControl(e.Event) && len(f.buffer) < f.bound+f.reserve-1:
			f.tellLoss() // which is before it
			f.buffer = append(f.buffer, e)
			continue
		}
		f.lost = e
		f.missing++
	}
	f.signal()
}

// End says that nothing more comes.
func (f *Feed) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.signal()
}

func (f *Feed) signal() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}
