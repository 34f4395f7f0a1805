package state

import (
	"encoding/json"
	"math"
	"math/bits"
	"time"
)

const (
	// Buckets begin at 2^firstOctave ns (1.02 µs) and end at 2^lastOctave ns
	// (73 min); each octave is cut in subBuckets equal parts.
	firstOctave = 10
	lastOctave  = 42
	subBits     = 3
	subBuckets  = 1 << subBits
	buckets     = (lastOctave-firstOctave)*subBuckets + 2
)

// Histogram counts durations in a fixed number of buckets, so that two of them
// can be added and memory does not grow. A quantile is off by at most 1/16 of
// its value (6.25 %) between 1.02 µs and 73 min; below and above, the bounds
// themselves are given. The zero Histogram is empty.
type Histogram struct {
	counts [buckets]uint32
	total  uint64
}

// Observe counts one duration. Negative ones count as zero.
func (h *Histogram) Observe(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
}

// clone is a copy of its own; of nil an empty one.
func (h *Histogram) clone() *Histogram {
	if h == nil {
		return new(Histogram)
	}
	own := *h
	return &own
}

// MarshalJSON writes the buckets that count something, by their number.
func (h Histogram) MarshalJSON() ([]byte, error) {
	counts := map[int]uint32{}
	for i, n := range h.counts {
		if n > 0 {
			counts[i] = n
		}
	}
	return json.Marshal(counts)
}

// UnmarshalJSON reads what MarshalJSON wrote. Buckets that it does not have
// count for nothing.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var counts map[int]uint32
	if err := json.Unmarshal(data, &counts); err != nil {
		return err
	}
	*h = Histogram{}
	for i, n := range counts {
		if i >= 0 && i < buckets {
			h.counts[i] = n
			h.total += uint64(n)
		}
	}
	return nil
}

// Count is the number of durations observed.
func (h *Histogram) Count() uint64 { return h.total }

// Quantile gives the duration that a share q of those observed do not exceed,
// for q in [0,1]; zero where nothing was observed.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(q*float64(h.total))))
	var seen uint64
	for i, n := range h.counts {
		if seen += uint64(n); seen >= rank {
			return middleOf(i)
		}
	}
	return middleOf(buckets - 1)
}

func bucketOf(d time.Duration) int {
	if d < 1<<firstOctave {
		return 0
	}
	octave := bits.Len64(uint64(d)) - 1
	if octave >= lastOctave {
		return buckets - 1
	}
	sub := int(d>>(octave-subBits)) & (subBuckets - 1)
	return 1 + (octave-firstOctave)*subBuckets + sub
}

func middleOf(bucket int) time.Duration {
	switch bucket {
	case 0:
		return 1 << firstOctave
	case buckets - 1:
		return 1 << lastOctave
	}
	octave, sub := (bucket-1)/subBuckets+firstOctave, (bucket-1)%subBuckets
	width := time.Duration(1) << (octave - subBits)
	return time.Duration(1)<<octave + time.Duration(sub)*width + width/2
}
