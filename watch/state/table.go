package state

import (
	"encoding/json"
	"iter"

	"github.com/tidwall/btree"
)

// Table is an immutable map in the order of its keys. Tables of successive
// snapshots share what did not change. Values must not be modified. Any number
// of goroutines may read one. The zero Table is empty.
type Table[V any] struct {
	m *btree.Map[string, V]
	// refused counts the new keys that found the table full.
	refused uint64
}

// Len is the number of rows.
func (t Table[V]) Len() int {
	if t.m == nil {
		return 0
	}
	return t.m.Len()
}

// Get gives the value of a key.
func (t Table[V]) Get(key string) (V, bool) {
	if t.m == nil {
		var none V
		return none, false
	}
	return t.m.Get(key)
}

// All gives the rows in the order of their keys.
func (t Table[V]) All() iter.Seq2[string, V] { return t.From("") }

// From gives the rows from the first key that is not before pivot.
func (t Table[V]) From(pivot string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.m != nil {
			t.m.Ascend(pivot, yield)
		}
	}
}

// Prefix gives the rows whose keys begin with prefix.
func (t Table[V]) Prefix(prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for key, v := range t.From(prefix) {
			if len(key) < len(prefix) || key[:len(prefix)] != prefix || !yield(key, v) {
				return
			}
		}
	}
}

// At gives the row at a place in the order, in logarithmic time: a screen
// draws the rows it shows and no others.
func (t Table[V]) At(i int) (string, V, bool) {
	if t.m == nil || i < 0 || i >= t.m.Len() {
		var none V
		return "", none, false
	}
	return t.m.GetAt(i)
}

// MarshalJSON gives the values as a list.
func (t Table[V]) MarshalJSON() ([]byte, error) {
	values := []V{}
	for _, v := range t.All() {
		values = append(values, v)
	}
	return json.Marshal(values)
}

// thaw gives a Table that shares all rows and can be changed apart. The
// receiver is only read: btree's own Copy would write to it, and an older
// snapshot may be in use on another goroutine.
func (t Table[V]) thaw() Table[V] {
	if t.m == nil {
		t.m = new(btree.Map[string, V])
		return t
	}
	private := *t.m
	t.m = private.IsoCopy()
	return t
}

// set is for a thawed Table. It refuses and counts a new key beyond limit.
func (t *Table[V]) set(key string, v V, limit int) bool {
	if t.m.Len() >= limit {
		if _, known := t.m.Get(key); !known {
			t.refused++
			return false
		}
	}
	t.m.Set(key, v)
	return true
}

func (t *Table[V]) delete(key string) { t.m.Delete(key) }

// Ring is an immutable sequence of the newest items, with a count of the older
// ones that made room. Rings of successive snapshots share their items, which
// must not be modified. The zero Ring is empty.
type Ring[V any] struct {
	m       *btree.Map[uint64, V]
	next    uint64
	evicted uint64
}

// Len is the number of items held.
func (r Ring[V]) Len() int {
	if r.m == nil {
		return 0
	}
	return r.m.Len()
}

// Evicted counts the items that were held once and made room.
func (r Ring[V]) Evicted() uint64 { return r.evicted }

// All gives the items, oldest first.
func (r Ring[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		if r.m != nil {
			r.m.Scan(func(_ uint64, v V) bool { return yield(v) })
		}
	}
}

// Backward gives the items, newest first.
func (r Ring[V]) Backward() iter.Seq[V] {
	return func(yield func(V) bool) {
		if r.m != nil {
			r.m.Reverse(func(_ uint64, v V) bool { return yield(v) })
		}
	}
}

// At gives the item at a place, the oldest being 0, in logarithmic time.
func (r Ring[V]) At(i int) (V, bool) {
	if r.m == nil || i < 0 || i >= r.m.Len() {
		var none V
		return none, false
	}
	_, v, ok := r.m.GetAt(i)
	return v, ok
}

// MarshalJSON gives the items as a list, oldest first.
func (r Ring[V]) MarshalJSON() ([]byte, error) {
	values := []V{}
	for v := range r.All() {
		values = append(values, v)
	}
	return json.Marshal(values)
}

func (r Ring[V]) thaw() Ring[V] {
	if r.m == nil {
		r.m = new(btree.Map[uint64, V])
		return r
	}
	private := *r.m
	r.m = private.IsoCopy()
	return r
}

// push is for a thawed Ring. It gives back the number by which remove finds
// the item, and the item that made room, if any.
func (r *Ring[V]) push(v V, limit int) (number uint64, out V, evicted bool) {
	number = r.next
	r.next++
	r.m.Set(number, v)
	if r.m.Len() > limit {
		_, out, evicted = r.m.PopMin()
		r.evicted++
	}
	return number, out, evicted
}

func (r *Ring[V]) remove(number uint64) { r.m.Delete(number) }
