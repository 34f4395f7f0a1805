package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// MinSpeed and MaxSpeed bound the speed of a Player.
const (
	MinSpeed = 0.1
	MaxSpeed = 100.0
)

// playInterval is the time between two snapshots while it plays.
const playInterval = 100 * time.Millisecond

// Player plays a recording: it has a current place, which advances while it plays and
// which Seek and Step change. It can replace a hub for readers: Snapshot, Next and
// Subscribe are the hub's.
//
// It can be used while it still reads the file; see Status.Loading. Its methods are
// safe for concurrent use. Those that change the place return once its snapshot exists,
// some tens of milliseconds later.
type Player struct {
	cancel context.CancelFunc
	wake   chan struct{} // buffered: the clock has changed
	loaded chan struct{}
	ended  sync.WaitGroup

	// move is held while the place changes, and guards the cursor.
	move   sync.Mutex
	cursor cursor

	mu      sync.Mutex
	index   index
	loading bool
	problem string
	failed  error
	closed  bool

	place      int
	snapshot   *state.Snapshot
	head       time.Time
	playing    bool
	speed      float64
	anchor     time.Time // the clock's time at which the head was at from
	from       time.Time
	generation uint64
	news       chan struct{}
	streams    map[*Stream]struct{}
}

// Status is the state of a Player.
type Status struct {
	// Generation increases with every change of the other fields and of the snapshot.
	Generation uint64
	Playing    bool
	Speed      float64
	// Now is the displayed time, between Start and End: ages and countdowns are
	// relative to it.
	Now, Start, End time.Time
	// Place is the number of entries played, of Entries.
	Place, Entries int
	// Errors is the number of entries that NextError stops at.
	Errors int
	// Loading: the file is still being read, and End and Entries grow.
	Loading bool
	// Problem describes why the recording ends early; empty if it does not.
	Problem string
	// Unknown counts the unreadable lines.
	Unknown uint64
}

// Play opens a recording, paused at its start. Call Close. The file is read in the
// background; Wait waits for that.
func Play(path string) (*Player, error) {
	r, err := Open(path, Bounds{})
	if err != nil {
		return nil, err
	}
	return newPlayer(r), nil
}

func newPlayer(r *Reader) *Player {
	base := state.NewSnapshot(state.Limits{})
	ctx, cancel := context.WithCancel(context.Background())
	p := &Player{
		cancel: cancel,
		wake:   make(chan struct{}, 1), loaded: make(chan struct{}), news: make(chan struct{}),
		index: index{base: base, tail: base, stride: 1, limit: maxCheckpoints}, loading: true,
		snapshot: base, speed: 1, streams: map[*Stream]struct{}{},
	}
	p.ended.Go(func() { p.load(ctx, r) })
	p.ended.Go(func() { p.run(ctx) })
	return p
}

func (p *Player) load(ctx context.Context, r *Reader) {
	defer close(p.loaded)
	err := load(ctx, r, func(next piece) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.index.add(next)
		if p.place == 0 {
			p.snapshot = p.index.base
		}
		if p.head.IsZero() {
			p.head, p.from = p.index.start, p.index.start
		}
		p.changed()
		return nil
	})
	err = errors.Join(err, r.Close())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loading, p.problem = false, r.Problem()
	if err != nil && ctx.Err() == nil {
		p.failed = err
		p.problem = err.Error()
	}
	p.changed()
}

// changed notifies all waiters. The caller holds mu.
func (p *Player) changed() {
	p.generation++
	close(p.news)
	p.news = make(chan struct{})
}

// Wait waits until the file is read. The error is an I/O error or ctx's; a truncated or
// corrupted recording is a Status.Problem.
func (p *Player) Wait(ctx context.Context) error {
	select {
	case <-p.loaded:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the Player. Waiters get hub.ErrClosed, streams end.
func (p *Player) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.playing = false
		p.changed()
		for s := range p.streams {
			s.feed.End()
		}
		clear(p.streams)
	}
	p.mu.Unlock()
	p.cancel()
	p.ended.Wait()
}

// Status returns the current status.
func (p *Player) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status()
}

func (p *Player) status() Status {
	return Status{
		Generation: p.generation, Playing: p.playing, Speed: p.speed,
		Now: p.head, Start: p.index.start, End: p.index.end, Place: p.place, Entries: p.index.size,
		Errors: len(p.index.errors), Loading: p.loading, Problem: p.problem, Unknown: p.index.unknown,
	}
}

// Snapshot returns the state at the current place.
func (p *Player) Snapshot() *state.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot
}

// Next waits for a snapshot other than that of the given entry. Unlike a hub's, it may
// be of an earlier entry. On a closed Player it returns hub.ErrClosed.
func (p *Player) Next(ctx context.Context, after uint64) (*state.Snapshot, error) {
	for {
		p.mu.Lock()
		snapshot, news, closed := p.snapshot, p.news, p.closed
		p.mu.Unlock()
		switch {
		case closed:
			return nil, hub.ErrClosed
		case snapshot.Seq != after:
			return snapshot, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Watch waits for a Status newer than a generation, and returns it with its snapshot.
// On a closed Player it returns hub.ErrClosed.
func (p *Player) Watch(ctx context.Context, generation uint64) (Status, *state.Snapshot, error) {
	for {
		p.mu.Lock()
		status, snapshot, news, closed := p.status(), p.snapshot, p.news, p.closed
		p.mu.Unlock()
		switch {
		case closed:
			return status, nil, hub.ErrClosed
		case status.Generation > generation:
			return status, snapshot, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return status, nil, ctx.Err()
		}
	}
}

// Seek moves to a time. Times before the start mean the start, times after the end mean
// the end as far as it is read.
func (p *Player) Seek(t time.Time) error {
	p.move.Lock()
	defer p.move.Unlock()
	p.mu.Lock()
	if t.Before(p.index.start) {
		t = p.index.start
	}
	if t.After(p.index.end) {
		t = p.index.end
	}
	p.mu.Unlock()
	place, err := p.placeAt(t)
	if err != nil {
		return err
	}
	return p.goTo(place, t, true)
}

// Step moves by a number of entries, backwards if it is negative, and pauses.
func (p *Player) Step(n int) error {
	p.move.Lock()
	defer p.move.Unlock()
	p.mu.Lock()
	place := max(0, min(p.index.size, p.place+n))
	p.playing = false
	p.mu.Unlock()
	return p.goEntry(place)
}

// NextError moves behind the next entry that reports an error and pauses; false if
// there is none (yet).
func (p *Player) NextError() (bool, error) { return p.jump(+1) }

// PreviousError is like NextError, backwards.
func (p *Player) PreviousError() (bool, error) { return p.jump(-1) }

func (p *Player) jump(direction int) (bool, error) {
	p.move.Lock()
	defer p.move.Unlock()
	p.mu.Lock()
	n, here := slices.BinarySearch(p.index.errors, p.place)
	switch {
	case direction < 0:
		n--
	case here:
		n++
	}
	if n < 0 || n >= len(p.index.errors) {
		p.mu.Unlock()
		return false, nil
	}
	place := p.index.errors[n]
	p.playing = false
	p.mu.Unlock()
	return true, p.goEntry(place)
}

// errClosed keeps a closed Player where it is.
var errClosed = fmt.Errorf("play the recording: %w", hub.ErrClosed)
