package hub

import (
	"context"

	"github.com/kctl-ctrl/kctl-ctrl/watch/internal/feed"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Subscription is one reader's stream of the journal, in order and without losses
// unless the reader falls behind by more than its buffer. A loss appears in the stream
// as a Dropped event of "subscriber" with the number of the last entry lost.
type Subscription struct {
	hub  *Hub
	feed *feed.Feed
}

// Subscribe starts a stream with the first entry that is not folded yet, which is the
// journal's first if none was. The buffer is a number of entries; 65,536 if it is zero
// or less. Close releases it.
func (h *Hub) Subscribe(buffer int) *Subscription {
	s := &Subscription{hub: h, feed: feed.New(buffer)}
	h.fold.Lock()
	defer h.fold.Unlock()
	h.view.Lock()
	final := h.final
	h.view.Unlock()
	if final {
		s.feed.End()
	} else {
		h.subscribers[s] = struct{}{}
	}
	return s
}

// Next returns the available entries and waits for at least one. After Close, of the
// hub or the subscription, it returns the remaining entries and then io.EOF. The caller
// owns the slice. Only one goroutine may call Next.
func (s *Subscription) Next(ctx context.Context) ([]state.Entry, error) { return s.feed.Next(ctx) }

// Close ends the stream. It may be called while Next waits.
func (s *Subscription) Close() {
	s.hub.fold.Lock()
	delete(s.hub.subscribers, s)
	s.hub.fold.Unlock()
	s.feed.End()
}
