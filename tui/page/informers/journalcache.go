package informers

import (
	"context"
	"errors"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// journalCache is the cache of a type as far as a journal tells of it: names,
// owners and versions. It stands in where there is no informer to look into, in a
// replay. Its page puts each new snapshot into it.
type journalCache struct {
	typ  string
	snap atomic.Pointer[state.Snapshot]
}

var _ port.Cache = (*journalCache)(nil)

func (c *journalCache) current() *state.Snapshot { return c.snap.Load() }

func (c *journalCache) Stats() state.StoreStats {
	if in, ok := c.current().Informers.Get(c.typ); ok {
		return ofJournal(in)
	}
	return state.StoreStats{Type: c.typ, Synced: true}
}

// Edition is the number of the latest entry: each may have changed something.
func (c *journalCache) Edition() uint64 { return c.current().Seq }

func (c *journalCache) Close() {}

// span is the part of the snapshot's objects that are of the type: objects of one
// type stand together.
func (c *journalCache) span(s *state.Snapshot) (from, to int) {
	prefix := c.typ + "\x00"
	n := s.Objects.Len()
	place := func(key string) int {
		return sort.Search(n, func(i int) bool { id, _, _ := s.Objects.At(i); return id >= key })
	}
	return place(prefix), place(c.typ + "\x01")
}

func (c *journalCache) Window(q port.CacheQuery, offset, n int) (port.CacheWindow, error) {
	s := c.current()
	from, to := c.span(s)
	w := port.CacheWindow{Offset: offset, Built: true, Synced: true, Objects: to - from, Seen: to - from}
	if q == (port.CacheQuery{}) { // the order of the snapshot itself
		w.Total = to - from
		for i := from + offset; i < min(from+offset+n, to); i++ {
			_, o, _ := s.Objects.At(i)
			w.Rows = append(w.Rows, rowOf(o))
		}
		return w, nil
	}
	rows, err := c.chosen(q)
	if err != nil {
		return w, err
	}
	w.Total = len(rows)
	w.Rows = rows[min(offset, len(rows)):min(offset+n, len(rows))]
	return w, nil
}

// chosen walks all objects of the type.
func (c *journalCache) chosen(q port.CacheQuery) ([]port.CacheRow, error) {
	if q.Labels != "" {
		return nil, errors.New("a recording has no labels")
	}
	text := q.Text
	switch {
	case q.Fuzzy:
		text = "-f " + text
	case q.Invert:
		text = "!" + text
	}
	f, err := widget.ParseFilter(text, false)
	if err != nil {
		return nil, err
	}
	var rows []port.CacheRow
	for o := range c.current().ObjectsOf(c.typ) {
		if f.Matches(o.Key()) {
			rows = append(rows, rowOf(o))
		}
	}
	less := map[string]func(a, b port.CacheRow) bool{
		"name":            func(a, b port.CacheRow) bool { return a.Name < b.Name },
		"changed":         func(a, b port.CacheRow) bool { return a.Changed.After(b.Changed) },
		"age":             func(a, b port.CacheRow) bool { return a.Changed.After(b.Changed) },
		"resourceVersion": func(a, b port.CacheRow) bool { return shorter(a.ResourceVersion, b.ResourceVersion) },
	}[q.Sort]
	if less != nil {
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j]) })
	}
	if q.Descending {
		for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
			rows[i], rows[j] = rows[j], rows[i]
		}
	}
	return rows, nil
}

// shorter orders numbers written without leading zeros.
func shorter(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func rowOf(o *state.Object) port.CacheRow {
	return port.CacheRow{Ref: o.Ref, ResourceVersion: o.ResourceVersion, Changed: o.Changed, Owner: o.Owner}
}

func (c *journalCache) Find(q port.CacheQuery, namespace, name string) (int, bool) {
	s := c.current()
	if q == (port.CacheQuery{}) {
		from, to := c.span(s)
		key := strings.Join([]string{c.typ, namespace, name}, "\x00")
		at := sort.Search(to-from, func(i int) bool { id, _, _ := s.Objects.At(from + i); return id >= key })
		if at == to-from {
			return 0, false
		}
		id, _, _ := s.Objects.At(from + at)
		return at, id == key
	}
	rows, err := c.chosen(q)
	if err != nil {
		return 0, false
	}
	for i, r := range rows {
		if r.Namespace == namespace && r.Name == name {
			return i, true
		}
	}
	return 0, false
}

func (c *journalCache) Object(namespace, name string) (port.CacheObject, bool) {
	o, ok := c.current().Objects.Get(strings.Join([]string{c.typ, namespace, name}, "\x00"))
	if !ok {
		return port.CacheObject{}, false
	}
	content := map[string]any{"recorded": map[string]any{"change": string(o.Change), "at": o.Changed}, "metadata": map[string]any{
		"name": o.Name, "namespace": o.Namespace, "uid": o.UID, "resourceVersion": o.ResourceVersion,
	}}
	return port.CacheObject{CacheRow: rowOf(o), Content: content}, true
}

func (c *journalCache) Compare(context.Context, string, string) (port.CacheComparison, error) {
	return port.CacheComparison{}, errors.New("a recording has no API server to compare with")
}
