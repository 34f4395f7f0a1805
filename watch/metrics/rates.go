package metrics

import (
	"slices"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// NeedRates reports whether a check is per second, which needs two readings of the
// queues.
func NeedRates(checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool {
		return slices.ContainsFunc(checkable, func(f figure) bool { return f.name == c.What && f.rate })
	})
}

// WithRates returns the queues of a reading with the rates of their counters since an
// earlier reading, elapsed before. A queue missing there counted from zero.
func WithRates(before, now []state.QueueStats, elapsed time.Duration) []state.QueueStats {
	if elapsed <= 0 {
		return now
	}
	out := slices.Clone(now)
	for i := range out {
		q := &out[i]
		var old state.QueueStats
		if j := slices.IndexFunc(before, func(b state.QueueStats) bool {
			return b.Context == q.Context && b.Controller == q.Controller && b.Name == q.Name
		}); j >= 0 {
			old = before[j]
		}
		q.Adds, q.Retries = rising(old.Adds, q.Adds, elapsed), rising(old.Retries, q.Retries, elapsed)
		q.Syncs, q.Errors = rising(old.Syncs, q.Syncs, elapsed), rising(old.Errors, q.Errors, elapsed)
	}
	return out
}

// rising is a counter with its rate; a counter that decreased, as after a restart, has
// none.
func rising(before, now *state.Counter, elapsed time.Duration) *state.Counter {
	if now == nil {
		return nil
	}
	var from uint64
	if before != nil {
		from = before.Total
	}
	if now.Total < from {
		return now
	}
	return &state.Counter{Total: now.Total, PerSecond: new(float64(now.Total-from) / elapsed.Seconds())}
}
