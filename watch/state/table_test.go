package state

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestHistogramError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo, hi := int64(1<<firstOctave), int64(1<<lastOctave)-1
		sample := rapid.SliceOfN(rapid.Map(rapid.Float64Range(math.Log(float64(lo)), math.Log(float64(hi))), func(x float64) time.Duration {
			return time.Duration(min(max(int64(math.Exp(x)), lo), hi))
		}), 1, 100).Draw(t, "sample")
		var whole Histogram
		for _, d := range sample {
			whole.Observe(d)
		}
		if whole.Count() != uint64(len(sample)) {
			t.Fatalf("it has counted %d of %d", whole.Count(), len(sample))
		}
		slices.Sort(sample)
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			want := sample[max(1, int(math.Ceil(q*float64(len(sample)))))-1]
			got := whole.Quantile(q)
			if e := math.Abs(float64(got-want)) / float64(want); e > 1.0/16 {
				t.Fatalf("quantile %v is %s, want %s: off by %.3f", q, got, want, e)
			}
		}
	})
}

func TestHistogramOutside(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	h.Observe(-time.Second)
	h.Observe(0)
	h.Observe(math.MaxInt64)
	if lo, hi := h.Quantile(0), h.Quantile(1); lo != 1<<firstOctave || hi != 1<<lastOctave {
		t.Errorf("outside the range: %s and %s, want the bounds", lo, hi)
	}
}

// A Table behaves as a map does, and older copies stay.
func TestTableAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			table Table[int]
			model map[string]int
		}
		now := version{model: map[string]int{}}
		var old []version
		for i := range rapid.IntRange(0, 300).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 150).Draw(t, "key"))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				old = append(old, now)
				now = version{now.table.thaw(), maps.Clone(now.model)}
			case 1:
				if now.table.m != nil {
					now.table.delete(key)
					delete(now.model, key)
				}
			default:
				if now.table.m != nil {
					now.table.set(key, i, math.MaxInt)
					now.model[key] = i
				}
			}
		}
		for _, v := range append(old, now) {
			if got := maps.Collect(v.table.All()); !maps.Equal(got, v.model) || v.table.Len() != len(v.model) {
				t.Fatalf("table %v, want %v", got, v.model)
			}
			for i, key := range slices.Sorted(maps.Keys(v.model)) {
				if k, n, ok := v.table.At(i); !ok || k != key || n != v.model[key] {
					t.Fatalf("row %d is %q %d, want %q", i, k, n, key)
				}
			}
		}
	})
}

func TestTablePrefix(t *testing.T) {
	table := Table[int]{}.thaw()
	for i, key := range []string{"a", "ab", "abc", "b", "ab\x00c"} {
		table.set(key, i, 4) // the last finds no room
	}
	table.set("a", 9, 4)
	got := maps.Collect(table.Prefix("ab"))
	if !maps.Equal(got, map[string]int{"ab": 1, "abc": 2}) || table.refused != 1 {
		t.Errorf("prefix gives %v, %d refused", got, table.refused)
	}
	if v, _ := table.Get("a"); v != 9 {
		t.Error("a known key was refused in a full table")
	}
	var none Table[int]
	if _, ok := none.Get("a"); ok || none.Len() != 0 || len(maps.Collect(none.All())) != 0 {
		t.Error("the zero table is not empty")
	}
}

func TestRing(t *testing.T) {
	ring := Ring[int]{}.thaw()
	for i := range 5 {
		ring.push(i, 3)
	}
	older := ring
	ring = ring.thaw()
	ring.push(5, 3)
	for i, want := range [][]int{{2, 3, 4}, {3, 4, 5}} {
		r := []Ring[int]{older, ring}[i]
		newestFirst := slices.Clone(want)
		slices.Reverse(newestFirst)
		first, _ := r.At(0)
		if got := slices.Collect(r.All()); !slices.Equal(got, want) || !slices.Equal(slices.Collect(r.Backward()), newestFirst) || first != want[0] {
			t.Errorf("ring %d holds %v, want %v", i, got, want)
		}
	}
	if ring.Evicted() != 3 || older.Evicted() != 2 {
		t.Errorf("evicted %d and %d, want 3 and 2", ring.Evicted(), older.Evicted())
	}
}
