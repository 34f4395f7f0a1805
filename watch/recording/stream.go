package recording

import (
	"context"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/internal/feed"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// backlog is how many entries before the new place a stream gets after a jump.
const backlog = 1000

// Stream is the sequence of entries that a Player plays, like a hub's Subscription.
// After a jump it restarts with a Checkpoint that has a Head, then some of the entries
// before the new place, so that a list of entries is filled.
type Stream struct {
	player *Player
	feed   *feed.Feed
}

// Subscribe returns the entries played from now on. The buffer is a number of entries;
// 65,536 if it is zero or less. Close releases it.
func (p *Player) Subscribe(buffer int) *Stream {
	s := &Stream{player: p, feed: feed.New(buffer)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		s.feed.End()
	} else {
		p.streams[s] = struct{}{}
	}
	return s
}

// Next returns the available entries and waits for at least one; after Close the
// remaining ones, and then io.EOF. Only one goroutine may call it.
func (s *Stream) Next(ctx context.Context) ([]state.Entry, error) { return s.feed.Next(ctx) }

// Close ends the stream. It may be called while Next waits.
func (s *Stream) Close() {
	s.player.mu.Lock()
	delete(s.player.streams, s)
	s.player.mu.Unlock()
	s.feed.End()
}

// goTo makes a place the current one, at a time. Entries that are played or stepped
// over are sent to the streams one by one; a jump restarts them. The caller holds move.
func (p *Player) goTo(place int, at time.Time, moved bool) error {
	snapshot, err := p.stateAt(place)
	if err != nil {
		return err
	}
	p.mu.Lock()
	before, listeners := p.place, len(p.streams)
	p.mu.Unlock()
	jump := moved && (place < before || place-before > backlog)
	var played []state.Entry
	if listeners > 0 {
		if played, err = p.played(before, place, snapshot, jump); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	p.place, p.snapshot, p.head = place, snapshot, at
	for s := range p.streams {
		if jump { // what was not read yet is of the past
			s.feed.Restart(played)
		} else {
			s.feed.Offer(played)
		}
	}
	if moved {
		p.restart()
	} else {
		p.changed()
	}
	return nil
}

// played returns what the streams get for a move.
func (p *Player) played(before, place int, snapshot *state.Snapshot, jump bool) ([]state.Entry, error) {
	if !jump {
		return p.entries(before, place)
	}
	above, err := p.entries(max(0, place-backlog), place)
	if err != nil {
		return nil, err
	}
	for head := range snapshot.Checkpoint() {
		return append([]state.Entry{{Seq: snapshot.Seq, At: snapshot.At, Event: head}}, above...), nil
	}
	return above, nil
}
