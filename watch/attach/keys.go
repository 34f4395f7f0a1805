package attach

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// oldestKeys keeps the keys that have been in their phase longest; a queue can contain
// a hundred thousand.
type oldestKeys struct {
	limit int
	more  int
	heap  keyHeap
}

func (o *oldestKeys) add(k *state.Key) {
	switch {
	case o.limit <= 0:
		o.more++
	case len(o.heap) < o.limit:
		heap.Push(&o.heap, k)
	default:
		o.more++
		if before(k, o.heap[0]) < 0 {
			o.heap[0] = k
			heap.Fix(&o.heap, 0)
		}
	}
}

// keys returns copies without history, oldest first, and the number of keys left out.
func (o *oldestKeys) keys() ([]state.Key, int) {
	slices.SortFunc(o.heap, before)
	keys := make([]state.Key, len(o.heap))
	for i, k := range o.heap {
		keys[i] = *k
		keys[i].Attempts = nil
	}
	return keys, o.more
}

func before(a, b *state.Key) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
}

// keyHeap has on top the key that is evicted first.
type keyHeap []*state.Key

func (h keyHeap) Len() int           { return len(h) }
func (h keyHeap) Less(i, j int) bool { return before(h[i], h[j]) > 0 }
func (h keyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *keyHeap) Push(x any)        { *h = append(*h, x.(*state.Key)) }
func (h *keyHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
