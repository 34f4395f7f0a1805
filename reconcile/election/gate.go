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
	// lapsed is called once, without the lock, when the deadline has passed.
	lapsed func(reason string)

	mu sync.Mutex
	// renewed is when the request of the last renewal was about to be sent.
	renewed time.Duration
	open    bool
	why     string // it is shut
	ended   bool   // it will not open again
	under   int
	idle    chan struct{} // closed when under reaches 0; nil while nothing waits
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

// lapse closes a gate whose deadline has passed, and reports it.
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

// left is how long the gate stays open without a renewal; zero if it is closed.
func (g *gate) left() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return 0
	}
	return max(0, g.renewed+g.deadline-g.clock.Now())
}

// renew records a renewal, confirmed by the server, and when its request was about to
// be sent. It returns the time since the previous renewal and whether the gate is open.
// A confirmation that arrives too late does not open it.
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

// shut closes the gate permanently. The first reason is kept.
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

// drain waits until no write is in flight.
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
