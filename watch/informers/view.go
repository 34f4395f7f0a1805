package informers

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// SortKey is the sort order of rows. Equal rows are ordered by namespace and name.
type SortKey string

const (
	// ByNamespace sorts by namespace, then name; it is equal to the zero SortKey.
	ByNamespace SortKey = "namespace"
	ByName      SortKey = "name"
	// ByAge sorts the youngest first.
	ByAge SortKey = "age"
	// ByVersion sorts by resourceVersion as a number; other values count as zero.
	ByVersion SortKey = "resourceVersion"
	// ByChange sorts the latest change first; objects without a change since the list
	// come last.
	ByChange SortKey = "changed"
)

// Match is how a Query's Text is matched.
type Match string

const (
	// MatchText searches case-insensitively. It is equal to the zero Match.
	MatchText Match = "text"
	// MatchRegexp is Go's regexp; (?i) is not set.
	MatchRegexp Match = "regexp"
	// MatchFuzzy searches for the characters in this order with anything between them,
	// case-insensitively.
	MatchFuzzy Match = "fuzzy"
)

// Query selects and sorts rows. The zero Query selects all, by namespace and name. It
// is comparable: equal queries share a view.
type Query struct {
	// Text is matched with "namespace/name" as Match specifies. Invert selects the rows
	// that do not match.
	Text   string
	Match  Match
	Invert bool
	// Labels is a label selector as in kubectl's -l.
	Labels     string
	Sort       SortKey
	Descending bool
}

// compile returns the filter, nil for everything, and the order; the reader handles the
// direction.
func (q Query) compile() (keep func(*item) bool, order func(a, b *item) int, err error) {
	var tests []func(*item) bool
	if q.Text != "" {
		text, err := q.text()
		if err != nil {
			return nil, nil, err
		}
		tests = append(tests, func(it *item) bool { return text(it) != q.Invert })
	}
	if q.Labels != "" {
		selector, err := labels.Parse(q.Labels)
		if err != nil {
			return nil, nil, fmt.Errorf("invalid label selector %q: %w", q.Labels, err)
		}
		tests = append(tests, func(it *item) bool { return selector.Matches(labels.Set(it.object.GetLabels())) })
	}
	if len(tests) > 0 {
		keep = func(it *item) bool {
			for _, test := range tests {
				if !test(it) {
					return false
				}
			}
			return true
		}
	}
	order, err = q.Sort.order()
	return keep, order, err
}

func (q Query) text() (func(*item) bool, error) {
	switch q.Match {
	case "", MatchText:
		text := strings.ToLower(q.Text)
		return func(it *item) bool { return strings.Contains(strings.ToLower(key(it)), text) }, nil
	case MatchRegexp:
		expr, err := regexp.Compile(q.Text)
		if err != nil {
			return nil, fmt.Errorf("invalid regular expression %q: %w", q.Text, err)
		}
		return func(it *item) bool { return expr.MatchString(key(it)) }, nil
	case MatchFuzzy:
		return func(it *item) bool { return state.Fuzzy(q.Text, key(it)) }, nil
	}
	return nil, fmt.Errorf("invalid match type %q: use text, regexp or fuzzy", q.Match)
}

func key(it *item) string {
	if it.namespace == "" {
		return it.name
	}
	return it.namespace + "/" + it.name
}

func (s SortKey) order() (func(a, b *item) int, error) {
	by := func(first func(a, b *item) int) func(a, b *item) int {
		return func(a, b *item) int {
			if c := first(a, b); c != 0 {
				return c
			}
			return byKey(a, b)
		}
	}
	switch s {
	case "", ByNamespace:
		return byKey, nil
	case ByName:
		return by(func(a, b *item) int { return cmp.Compare(a.name, b.name) }), nil
	case ByAge:
		return by(func(a, b *item) int { return cmp.Compare(b.created, a.created) }), nil
	case ByVersion:
		return by(func(a, b *item) int { return cmp.Compare(a.version, b.version) }), nil
	case ByChange:
		return by(func(a, b *item) int { return cmp.Compare(b.changed, a.changed) }), nil
	}
	return nil, fmt.Errorf("invalid sort column %q: use namespace, name, age, resourceVersion or changed", s)
}

const (
	// maxViews is how many views of one informer are kept besides the one by namespace
	// and name.
	maxViews = 4
	// buildStep is how many objects are processed before the lock is released; smaller
	// views are built synchronously.
	buildStep = 1000
)

// view is a filtered and sorted part of an index. Its fields are guarded by index.mu
// except where noted.
type view struct {
	query Query // without the direction
	keep  func(*item) bool
	rows  *btree.BTreeG[*item]
	order func(a, b *item) int
	// built: every object has been processed; seen counts until then.
	built bool
	seen  int

	used    atomic.Uint64 // index.clock at the last read
	dropped atomic.Bool
}

// replace applies a change; old or now is nil.
func (v *view) replace(old, now *item) {
	if old != nil {
		v.rows.Delete(old)
	}
	if now != nil && (v.keep == nil || v.keep(now)) {
		v.rows.Set(now)
	}
}

// view returns the view of a query and starts building it if necessary.
func (x *index) view(q Query) (*view, error) {
	q.Descending = false
	if q.Sort == "" {
		q.Sort = ByNamespace
	}
	if q.Match == "" || q.Text == "" {
		q.Match = MatchText
	}
	if q.Text == "" {
		q.Invert = false
	}
	x.mu.RLock()
	v := x.known(q)
	x.mu.RUnlock()
	if v != nil {
		return v, nil
	}
	keep, order, err := q.compile()
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if v := x.known(q); v != nil {
		return v, nil
	}
	v = &view{query: q, keep: keep, order: order, rows: newTree(order)}
	v.used.Store(x.clock.Add(1))
	if len(x.views) >= maxViews {
		oldest := 0
		for i, other := range x.views {
			if other.used.Load() < x.views[oldest].used.Load() {
				oldest = i
			}
		}
		x.views[oldest].dropped.Store(true)
		x.views[oldest] = v
	} else {
		x.views = append(x.views, v)
	}
	switch {
	case x.all.Len() <= buildStep:
		for it := range x.all.Scan {
			v.replace(nil, it)
		}
		v.built = true
	case !x.closed:
		x.building.Add(1)
		go x.build(v, x.all.IsoCopy())
	}
	return v, nil
}

// known must be called with the lock held for reading.
func (x *index) known(q Query) *view {
	for _, v := range x.views {
		if v.query == q {
			v.used.Store(x.clock.Add(1))
			return v
		}
	}
	return nil
}

// build processes every object that existed when the view was created. replace has
// applied later changes.
func (x *index) build(v *view, was *btree.BTreeG[*item]) {
	defer x.building.Done()
	var found []*item
	seen := 0
	settle := func(built bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, it := range found {
			if now, there := x.all.Get(it); there && now == it {
				v.rows.Set(it)
			}
		}
		v.seen, v.built = seen, built
		x.edition.Add(1)
		found = found[:0]
	}
	for it := range was.Scan {
		if v.keep == nil || v.keep(it) {
			found = append(found, it)
		}
		if seen++; seen%buildStep == 0 {
			if v.dropped.Load() {
				return
			}
			settle(false)
		}
	}
	settle(true)
}

// page returns the items of a window, their total number, and the progress of building
// the view.
func (x *index) page(q Query, offset, n int) (items []*item, total, seen, of int, err error) {
	rows, v, err := x.rows(q)
	if err != nil {
		return nil, 0, 0, 0, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if rows == nil {
		rows = x.all
	}
	total, of = rows.Len(), x.all.Len()
	seen = of
	if v != nil && !v.built {
		seen = min(v.seen, of)
	}
	for i := max(0, offset); i < total && len(items) < n; i++ {
		place := i
		if q.Descending {
			place = total - 1 - i
		}
		it, ok := rows.GetAt(place)
		if !ok {
			break
		}
		items = append(items, it)
	}
	return items, total, seen, of, nil
}

// rows returns nil for the view that is the index itself.
func (x *index) rows(q Query) (*btree.BTreeG[*item], *view, error) {
	if q.Text == "" && q.Labels == "" && (q.Sort == "" || q.Sort == ByNamespace) {
		return nil, nil, nil
	}
	v, err := x.view(q)
	if err != nil {
		return nil, nil, err
	}
	return v.rows, v, nil
}

// place finds the position of an object in a view.
func (x *index) place(q Query, namespace, name string) (int, bool) {
	rows, v, err := x.rows(q)
	if err != nil {
		return 0, false
	}
	order := byKey
	x.mu.RLock()
	defer x.mu.RUnlock()
	if rows == nil {
		rows = x.all
	} else {
		order = v.order
	}
	it, found := x.all.Get(&item{namespace: namespace, name: name})
	if !found {
		return 0, false
	}
	if _, shown := rows.Get(it); !shown {
		return 0, false
	}
	low, high := 0, rows.Len()
	for low < high {
		middle := (low + high) / 2
		if at, _ := rows.GetAt(middle); order(at, it) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if q.Descending {
		low = rows.Len() - 1 - low
	}
	return low, true
}
