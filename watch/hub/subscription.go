package hub

import (
	"context"
	"io"
	"sync"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Subscription is one reader's stream of the journal: in order, and without a
// loss unless the reader falls behind by more than its buffer. A loss stands in
// the stream as a Dropped event of "subscriber" with the number of the last
// entry lost.
type Subscription struct {
	hub   *Hub
	bound int

	mu      sync.Mutex
	buffer  []state.Entry
	lost    state.Entry // the last one lost, while losses are not told yet
	missing uint64
	dropped uint64
	ended   bool
	news    chan struct{} // buffered
}

// Subscribe starts a stream with the first entry that is not folded yet, which
// is the journal's first if nothing was. The buffer is a number of entries;
// 65,536 where it is zero or less. Close gives it back.
func (h *Hub) Subscribe(buffer int) *Subscription {
	if buffer <= 0 {
		buffer = 1 << 16
	}
	s := &Subscription{hub: h, bound: buffer, news: make(chan struct{}, 1)}
	h.fold.Lock()
	defer h.fold.Unlock()
	h.view.Lock()
	final := h.final
	h.view.Unlock()
	if final {
		s.ended = true
	} else {
		h.subscribers[s] = struct{}{}
	}
	return s
}

// Next gives the entries that are there, waiting for at least one. After Close,
// of the hub or the subscription, it gives what is left and then io.EOF. The
// slice is the caller's. One goroutine may call Next.
func (s *Subscription) Next(ctx context.Context) ([]state.Entry, error) {
	for {
		entries, ended := s.take()
		switch {
		case len(entries) > 0:
			return entries, nil
		case ended:
			return nil, io.EOF
		}
		select {
		case <-s.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Dropped counts the entries that this stream has lost so far.
func (s *Subscription) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the stream. It may be called while Next waits.
func (s *Subscription) Close() {
	s.hub.fold.Lock()
	delete(s.hub.subscribers, s)
	s.hub.fold.Unlock()
	s.end()
}

func (s *Subscription) take() (entries []state.Entry, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, s.buffer = s.buffer, nil
	if s.missing > 0 {
		// The buffer was full from the first loss until now.
		entries = append(entries, state.Entry{
			Seq: s.lost.Seq, At: s.lost.At,
			Event: state.Dropped{Where: "subscriber", Count: s.missing},
		})
		s.missing, s.lost = 0, state.Entry{}
	}
	return entries, s.ended
}

func (s *Subscription) offer(entries []state.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if len(s.buffer) < s.bound {
			s.buffer = append(s.buffer, e)
			continue
		}
		s.lost = e
		s.missing++
		s.dropped++
	}
	s.signal()
}

func (s *Subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}
