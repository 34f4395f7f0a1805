package page

import (
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// trendLength is how many samples of about a second are kept.
const trendLength = 60

// trends remembers figures of the last minute, for sparklines and rates. Memory
// is bounded by the number of controllers.
type trends struct {
	at          []time.Time
	controllers map[string]*trend
	requests    []uint64
}

// trend is what is kept of a controller. Its slices end with the latest sample.
type trend struct {
	depth []int
	syncs []uint64
}

// Sample notes the figures of a snapshot; call it about once a second.
func (t *trends) Sample(s *state.Snapshot, now time.Time, requests uint64) {
	if n := len(t.at); n > 0 && (now.Before(t.at[n-1]) || now.Sub(t.at[n-1]) > time.Minute) {
		*t = trends{} // a replay was moved
	}
	if t.controllers == nil {
		t.controllers = map[string]*trend{}
	}
	t.at = push(t.at, now)
	t.requests = push(t.requests, requests)
	for name, c := range s.Controllers.All() {
		r := t.controllers[name]
		if r == nil {
			r = &trend{}
			t.controllers[name] = r
		}
		r.depth = push(r.depth, c.Now.Ready)
		r.syncs = push(r.syncs, c.Syncs)
	}
}

func push[T any](s []T, v T) []T {
	if len(s) >= trendLength {
		copy(s, s[1:])
		s = s[:len(s)-1]
	}
	return append(s, v)
}

// rateOver is the span of a rate, in samples.
const rateOver = 10

// rate is the rise per second of a count over the last samples.
func (t *trends) rate(counts []uint64) float64 {
	n := min(len(counts), len(t.at), rateOver+1)
	if n < 2 {
		return 0
	}
	last, first := counts[len(counts)-1], counts[len(counts)-n]
	d := t.at[len(t.at)-1].Sub(t.at[len(t.at)-n]).Seconds()
	if d <= 0 || last < first {
		return 0
	}
	return float64(last-first) / d
}

func (t *trends) SyncsPerSecond(controller string) float64 {
	if r := t.controllers[controller]; r != nil {
		return t.rate(r.syncs)
	}
	return 0
}

func (t *trends) RequestsPerSecond() float64 { return t.rate(t.requests) }

// Depths are the samples of a controller's ready keys, the latest last.
func (t *trends) Depths(controller string) []int {
	if r := t.controllers[controller]; r != nil {
		return r.depth
	}
	return nil
}
