package recording

import (
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// cachedChunks is how many decoded chunks a Player keeps: the current one and its
// neighbours, for stepping in both directions.
const cachedChunks = 4

// cursor caches the last results: the next move is most often a small one.
type cursor struct {
	place    int
	snapshot *state.Snapshot
	cached   []decoded // the latest used at the end
}

type decoded struct {
	chunk   int
	entries []state.Entry
}

// chunkNumber returns a chunk of the index and its entries. The caller holds move.
func (p *Player) chunkNumber(n int) (chunk, []state.Entry, error) {
	p.mu.Lock()
	c := p.index.chunks[n]
	p.mu.Unlock()
	cached := p.cursor.cached
	for i, d := range cached {
		if d.chunk == n {
			copy(cached[i:], cached[i+1:])
			cached[len(cached)-1] = d
			return c, d.entries, nil
		}
	}
	entries, err := unpack(c)
	if err != nil {
		return c, nil, fmt.Errorf("play the recording: %w", err)
	}
	if len(cached) == cachedChunks {
		cached = append(cached[:0], cached[1:]...)
	}
	p.cursor.cached = append(cached, decoded{n, entries})
	return c, entries, nil
}

// placeAt returns the place after the last entry that is not after the given time. The
// caller holds move.
func (p *Player) placeAt(t time.Time) (int, error) {
	p.mu.Lock()
	n, size := p.index.chunkAt(t), p.index.size
	inside := n < len(p.index.chunks) && !p.index.chunks[n].begin.After(t)
	if !inside && n < len(p.index.chunks) {
		size = p.index.chunks[n].first
	}
	p.mu.Unlock()
	if !inside {
		return size, nil
	}
	c, entries, err := p.chunkNumber(n)
	if err != nil {
		return 0, err
	}
	at := c.begin
	for i, e := range entries {
		if at = later(at, e.At); at.After(t) {
			return c.first + i, nil
		}
	}
	return c.first + c.size, nil
}

// timeOf returns the time of the last entry before a place. The caller holds move.
func (p *Player) timeOf(place int) (time.Time, error) {
	if place == 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.index.start, nil
	}
	p.mu.Lock()
	n := p.index.chunkOf(place - 1)
	p.mu.Unlock()
	c, entries, err := p.chunkNumber(n)
	if err != nil {
		return time.Time{}, err
	}
	at := c.begin
	for _, e := range entries[:place-c.first] {
		at = later(at, e.At)
	}
	return at, nil
}

// stateAt folds up to a place from the nearest snapshot before it. The caller holds
// move.
func (p *Player) stateAt(place int) (*state.Snapshot, error) {
	p.mu.Lock()
	from, snapshot := 0, p.index.base
	if place == p.index.size {
		from, snapshot = place, p.index.tail
	} else if place > 0 {
		for n := p.index.chunkOf(place); n >= 0; n-- {
			if c := p.index.chunks[n]; c.before != nil {
				from, snapshot = c.first, c.before
				break
			}
		}
	}
	p.mu.Unlock()
	if p.cursor.snapshot != nil && p.cursor.place >= from && p.cursor.place <= place {
		from, snapshot = p.cursor.place, p.cursor.snapshot
	}
	err := p.each(from, place, func(entries []state.Entry) { snapshot = state.Fold(snapshot, entries...) })
	if err != nil {
		return nil, err
	}
	p.cursor.place, p.cursor.snapshot = place, snapshot
	return snapshot, nil
}

// entries returns the entries between two places. The caller holds move.
func (p *Player) entries(from, to int) ([]state.Entry, error) {
	out := make([]state.Entry, 0, to-from)
	err := p.each(from, to, func(entries []state.Entry) { out = append(out, entries...) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// each passes on the entries between two places, chunk by chunk. The caller holds move.
func (p *Player) each(from, to int, do func([]state.Entry)) error {
	for from < to {
		p.mu.Lock()
		n := p.index.chunkOf(from)
		p.mu.Unlock()
		c, entries, err := p.chunkNumber(n)
		if err != nil {
			return err
		}
		upto := min(to, c.first+c.size)
		do(entries[from-c.first : upto-c.first])
		from = upto
	}
	return nil
}

// goEntry moves to a place, with the time of the entry before it. The caller holds
// move.
func (p *Player) goEntry(place int) error {
	at, err := p.timeOf(place)
	if err != nil {
		return err
	}
	return p.goTo(place, at, true)
}
