package approve

import (
	"fmt"
	"slices"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Brake is the state of the circuit breaker; the zero Brake is not tripped.
type Brake struct {
	Reason string
	Since  time.Time
}

// On reports whether the circuit breaker is tripped.
func (b Brake) On() bool { return b.Reason != "" }

// count counts a write before it is sent, or trips the circuit breaker if it would
// exceed a limit.
func (g *Gate) count(w subject) {
	now := g.now()
	g.sent = slices.DeleteFunc(g.sent, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if g.policy != nil {
		limits := g.policy.Limits
		switch {
		case limits.WritesPerMinute != nil && len(g.sent) >= *limits.WritesPerMinute:
			g.setBrake("the limit of " + Count(*limits.WritesPerMinute, "write") + " per minute is reached")
			return
		case limits.DeletesInTotal != nil && w.deletes && g.deletes >= *limits.DeletesInTotal:
			g.setBrake("the limit of " + Count(*limits.DeletesInTotal, "delete") + " is reached")
			return
		}
		if limits.WritesPerMinute != nil {
			g.sent = append(g.sent, now)
		}
	}
	if w.deletes {
		g.deletes++
	}
}

// Brake trips the circuit breaker: all writes are held until Release.
func (g *Gate) Brake(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setBrake(reason)
}

func (g *Gate) setBrake(reason string) {
	if g.brake.On() || g.closed {
		return
	}
	g.brake = Brake{Reason: reason, Since: g.now()}
	var means []string
	if g.onBrake != nil {
		means = g.onBrake()
	}
	g.record(g.brake.tripped(means))
	g.notify()
}

// tripped is the journal's event for the circuit breaker.
func (b Brake) tripped(means []string) state.BreakerChanged {
	return state.BreakerChanged{Tripped: true, Reason: state.OneLine(b.Reason), Means: means, Since: b.Since.UTC()}
}

// Braked returns the state of the circuit breaker.
func (g *Gate) Braked() Brake {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.brake
}

// Release releases the circuit breaker and resets the counts of the limits; false if it
// was not tripped. It may trip again immediately.
func (g *Gate) Release(by string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.brake.On() {
		return false
	}
	g.brake, g.sent, g.deletes = Brake{}, nil, 0
	g.record(state.BreakerChanged{By: by, Since: g.now().UTC()})
	g.settleAll()
	return true
}

// Count formats a number of writes or deletes: "1 delete", "3 deletes".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
