package tui

import (
	"slices"
	"strconv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// kept is the part of a ring that a page shows, oldest first. It takes over what
// is new in each snapshot: the ring is walked whole only after the page shows
// other rows than before, or a replay went back.
type kept[T any] struct {
	seq   func(T) uint64
	of    *state.Snapshot
	upto  uint64
	items []T
}

// again makes the next look start anew.
func (k *kept[T]) again() { k.of = nil }

// look takes over what a snapshot's ring has that is shown, and says whether
// there was anything new.
func (k *kept[T]) look(snap *state.Snapshot, ring state.Ring[T], shows func(T) bool) bool {
	if snap == k.of {
		return false
	}
	if k.of == nil || snap.Seq < k.of.Seq {
		k.items, k.upto = nil, 0
	}
	k.of = snap
	if oldest, ok := ring.At(0); ok {
		from := k.place(k.seq(oldest))
		k.items = k.items[from:]
	}
	n := len(k.items)
	for v := range ring.Backward() {
		if k.seq(v) <= k.upto {
			break
		}
		if shows(v) {
			k.items = append(k.items, v)
		}
	}
	slices.Reverse(k.items[n:])
	k.upto = snap.Seq
	return len(k.items) > n
}

// place is where an entry is, or the next after it.
func (k *kept[T]) place(seq uint64) int {
	at, _ := slices.BinarySearchFunc(k.items, seq, func(v T, want uint64) int {
		switch s := k.seq(v); {
		case s < want:
			return -1
		case s > want:
			return 1
		}
		return 0
	})
	return at
}

// keptRows shows them in a list, the newest first or last.
type keptRows[T any] struct {
	*kept[T]
	newestFirst bool
	cells       func(T) []widget.Cell
}

func (r keptRows[T]) index(i int) int {
	if r.newestFirst {
		return len(r.items) - 1 - i
	}
	return i
}

func (r keptRows[T]) Len() int                  { return len(r.items) }
func (r keptRows[T]) ID(i int) string           { return entryID(r.seq(r.items[r.index(i)])) }
func (r keptRows[T]) Cells(i int) []widget.Cell { return r.cells(r.items[r.index(i)]) }

func (r keptRows[T]) Find(id string) int {
	seq, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return -1
	}
	if at := r.place(seq); at < len(r.items) && r.seq(r.items[at]) == seq {
		return r.index(at)
	}
	return -1
}

func (r keptRows[T]) at(l widget.List) (T, bool) {
	at := l.At(r)
	if at < 0 {
		var none T
		return none, false
	}
	return r.items[r.index(at)], true
}

func entryID(seq uint64) string { return strconv.FormatUint(seq, 10) }
