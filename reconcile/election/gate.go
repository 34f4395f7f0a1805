package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// gate is open while the lease is held and was renewed in time. It implements
// guard.Gate.
type gate struct {
	clock    Clock
	deadline time.Duration // RenewDeadline
	within   time.Duration // LeaseDuration − RenewDeadline
	// lapsed is told, outside the lock and once, that the deadline passed.
	lapsed func(reason string)

	mu sync.Mutex
	// renewed is when the request that renewed last was about to leave.
	renewed time.Duration
	open    bool
	why     string // it is shut
	ended   bool   // it will not open again
	under   int
	idle    chan struct{} // closed when under falls to 0; nil while nobody waits
}

// Enter implements guard.Gate.
func (g *gate) Enter() (time.Duration, func(), error) {
	g.lapse()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return 0, nil, errors.New(g.why)
	}
	g.under++
	return g.within, g.leave, nil
}

// Open implements guard.Gate.
func (g *gate) Open() error {
	g.lapse()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return errors.New(g.why)
	}
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.under--
	if g.under == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// lapse shuts a gate whose deadline has passed, and says so.
func (g *gate) lapse() {
	g.mu.Lock()
	age := g.clock.Now() - g.renewed
	if !g.open || age < g.deadline {
		g.mu.Unlock()
		return
	}
	reason := fmt.Sprintf("the lease was last renewed %s ago, and writes are only allowed for %s", state.Short(age), g.deadline)
	g.shutLocked(reason)
	g.mu.Unlock()
	g.lapsed(reason)
}

// left is how long the gate stays open without a renewal; zero if it is shut.
func (g *gate) left() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return 0
	}
	return max(0, g.renewed+g.deadline-g.clock.Now())
}

// renew counts a renewal, confirmed by the server, whose request was about to
// leave at a moment. It returns how long that was after the one before, and
// whether the gate is open. A confirmation that comes too late opens nothing.
func (g *gate) renew(at time.Duration) (gap time.Duration, open bool) {
	g.lapse()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return 0, false
	}
	if g.open {
		gap = at - g.renewed
	} else if g.clock.Now()-at >= g.deadline {
		return 0, false
	}
	g.open, g.renewed = true, at
	return gap, true
}

// shut closes the gate for good. The first reason stays.
func (g *gate) shut(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shutLocked(reason)
}

func (g *gate) shutLocked(reason string) {
	if !g.ended {
		g.why = reason
	}
	g.open, g.ended = false, true
}

// drain waits until no write is under way.
func (g *gate) drain(ctx context.Context) error {
	g.mu.Lock()
	if g.under == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		return fmt.Errorf("%d write(s) still in flight: %w", g.under, context.Cause(ctx))
	}
}
