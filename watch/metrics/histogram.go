package metrics

import (
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// histogram is a Prometheus histogram in seconds. A nil histogram is empty.
type histogram struct {
	count   uint64
	buckets []bucket // ascending, without the infinite one
}

// bucket has the number of observations not above a bound.
type bucket struct {
	upTo  float64
	count uint64
}

// with merges the sample's histogram into h. If their bounds differ, only the common
// ones remain.
func (h *histogram) with(m *dto.Metric) *histogram {
	source := m.GetHistogram()
	if source == nil {
		return h
	}
	next := &histogram{count: source.GetSampleCount()}
	for _, b := range source.GetBucket() {
		if up := b.GetUpperBound(); !math.IsNaN(up) && !math.IsInf(up, 0) {
			next.buckets = append(next.buckets, bucket{up, b.GetCumulativeCount()})
		}
	}
	slices.SortFunc(next.buckets, func(a, b bucket) int { return compare(a.upTo, b.upTo) })
	if h == nil {
		return next
	}
	sum := &histogram{count: h.count + next.count}
	for _, b := range h.buckets {
		if i, ok := slices.BinarySearchFunc(next.buckets, b.upTo, func(o bucket, up float64) int { return compare(o.upTo, up) }); ok {
			sum.buckets = append(sum.buckets, bucket{b.upTo, b.count + next.buckets[i].count})
		}
	}
	return sum
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// since returns what was observed after before; nil if that is impossible.
func (h *histogram) since(before *histogram) *histogram {
	if h == nil || before == nil || h.count < before.count || len(h.buckets) != len(before.buckets) {
		return nil
	}
	d := &histogram{count: h.count - before.count, buckets: make([]bucket, len(h.buckets))}
	for i, b := range h.buckets {
		old := before.buckets[i]
		if old.upTo != b.upTo || b.count < old.count {
			return nil
		}
		d.buckets[i] = bucket{b.upTo, b.count - old.count}
	}
	return d
}

// latency is nil if nothing was observed.
func (h *histogram) latency() *state.Latency {
	if h == nil || h.count == 0 {
		return nil
	}
	return &state.Latency{Count: h.count, P50: h.quantile(0.50), P99: h.quantile(0.99)}
}

func (h *histogram) quantile(q float64) state.Quantile {
	rank := uint64(math.Ceil(q * float64(h.count)))
	above := 0.0
	for _, b := range h.buckets {
		if b.count >= rank {
			return state.Quantile{Above: seconds(max(0, above)), AtMost: seconds(max(0, b.upTo))}
		}
		above = b.upTo
	}
	return state.Quantile{Above: seconds(max(0, above))}
}
