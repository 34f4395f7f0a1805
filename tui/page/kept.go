package page

import (
	"slices"
	"strconv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Kept is the part of a ring that a page shows, oldest first. It takes over what
// is new in each snapshot: the ring is walked whole only after the page shows
// other rows than before, or a replay went back.
type Kept[T any] struct {
	Seq   func(T) uint64
	of    *state.Snapshot
	upto  uint64
	items []T
}

// Again makes the next look start anew.
func (k *Kept[T]) Again() { k.of = nil }

// Look takes over what a snapshot's ring has that is shown, and says whether
// there was anything new.
func (k *Kept[T]) Look(snap *state.Snapshot, ring state.Ring[T], shows func(T) bool) bool {
	if snap == k.of {
		return false
	}
	if k.of == nil || snap.Seq < k.of.Seq {
		k.items, k.upto = nil, 0
	}
	k.of = snap
	if oldest, ok := ring.At(0); ok {
		from := k.place(k.Seq(oldest))
		k.items = k.items[from:]
	}
	n := len(k.items)
	for v := range ring.Backward() {
		if k.Seq(v) <= k.upto {
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
func (k *Kept[T]) place(seq uint64) int {
	at, _ := slices.BinarySearchFunc(k.items, seq, func(v T, want uint64) int {
		switch s := k.Seq(v); {
		case s < want:
			return -1
		case s > want:
			return 1
		}
		return 0
	})
	return at
}

// KeptRows shows them in a list, the newest first or last.
type KeptRows[T any] struct {
	*Kept[T]
	NewestFirst bool
	CellsOf     func(T) []widget.Cell
}

func (r KeptRows[T]) index(i int) int {
	if r.NewestFirst {
		return len(r.items) - 1 - i
	}
	return i
}

func (r KeptRows[T]) Len() int                  { return len(r.items) }
func (r KeptRows[T]) ID(i int) string           { return EntryID(r.Seq(r.items[r.index(i)])) }
func (r KeptRows[T]) Cells(i int) []widget.Cell { return r.CellsOf(r.items[r.index(i)]) }

func (r KeptRows[T]) Find(id string) int {
	seq, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return -1
	}
	if at := r.place(seq); at < len(r.items) && r.Seq(r.items[at]) == seq {
		return r.index(at)
	}
	return -1
}

func (r KeptRows[T]) At(l widget.List) (T, bool) {
	at := l.At(r)
	if at < 0 {
		var none T
		return none, false
	}
	return r.items[r.index(at)], true
}

// EntryID is the identity of an entry of the journal as a row.
func EntryID(seq uint64) string { return strconv.FormatUint(seq, 10) }
