package informers

import (
	"cmp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// item is one object in the index. It is immutable except where noted.
type item struct {
	namespace, name string
	object          metav1.Object // the store's own
	created         int64         // seconds
	changed         int64         // nanoseconds; zero since it was listed
	version         uint64        // zero if the resourceVersion is not a number

	// confirmed: the informer's handler was told of it. Guarded by index.mu.
	confirmed bool
	// status is computed when the row is first displayed.
	status atomic.Pointer[document.ObjectStatus]
}

func newItem(o metav1.Object, changed time.Time) *item {
	it := &item{namespace: o.GetNamespace(), name: o.GetName(), object: o, created: o.GetCreationTimestamp().Unix()}
	if !changed.IsZero() {
		it.changed = changed.UnixNano()
	}
	it.version, _ = strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	return it
}

func byKey(a, b *item) int {
	if c := cmp.Compare(a.namespace, b.namespace); c != 0 {
		return c
	}
	return cmp.Compare(a.name, b.name)
}

func newTree(order func(a, b *item) int) *btree.BTreeG[*item] {
	return btree.NewBTreeGOptions(func(a, b *item) bool { return order(a, b) < 0 }, btree.Options{NoLocks: true})
}

// index contains an informer's objects ordered by key, and the views of them in use. It
// is safe for concurrent use.
type index struct {
	mu    sync.RWMutex
	all   *btree.BTreeG[*item]
	views []*view
	// building counts the goroutines that build a view.
	building sync.WaitGroup
	closed   bool

	// clock counts reads of views.
	clock atomic.Uint64
	// edition changes with every change.
	edition atomic.Uint64
}

func newIndex() *index { return &index{all: newTree(byKey)} }

func (x *index) len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.all.Len()
}

func (x *index) get(namespace, name string) *item {
	x.mu.RLock()
	defer x.mu.RUnlock()
	it, _ := x.all.Get(&item{namespace: namespace, name: name})
	return it
}

// offer adds an object that the handler has not received yet. Unless fresh is set, an
// existing one stays.
func (x *index) offer(o metav1.Object, fresh bool) {
	it := newItem(o, time.Time{})
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, there := x.all.Get(it); there && !fresh {
		return
	}
	x.set(it)
}

// put adds an object that the handler received.
func (x *index) put(o metav1.Object, changed time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old, found := x.all.Get(&item{namespace: o.GetNamespace(), name: o.GetName()}); found && old.object == o {
		old.confirmed = true
		return
	}
	it := newItem(o, changed)
	it.confirmed = true
	x.set(it)
}

// renew replaces an unchanged object with a new copy.
func (x *index) renew(o metav1.Object) {
	changed := time.Time{}
	if old := x.get(o.GetNamespace(), o.GetName()); old != nil && old.changed != 0 {
		changed = time.Unix(0, old.changed)
	}
	x.put(o, changed)
}

// set is called with the lock held.
func (x *index) set(it *item) {
	old, replaced := x.all.Set(it)
	if !replaced {
		old = nil
	}
	for _, v := range x.views {
		v.replace(old, it)
	}
	x.edition.Add(1)
}

func (x *index) delete(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(&item{namespace: namespace, name: name})
}

func (x *index) remove(key *item) {
	old, found := x.all.Delete(key)
	if !found {
		return
	}
	for _, v := range x.views {
		v.replace(old, nil)
	}
	x.edition.Add(1)
}

// sweep removes objects that were offered and then not delivered: they were deleted
// during the list.
func (x *index) sweep() {
	x.mu.Lock()
	defer x.mu.Unlock()
	var stale []*item
	for it := range x.all.Scan {
		if !it.confirmed {
			stale = append(stale, it)
		}
	}
	for _, it := range stale {
		x.remove(it)
	}
	x.edition.Add(1)
}

// close stops building views and waits for it.
func (x *index) close() {
	x.mu.Lock()
	x.closed = true
	for _, v := range x.views {
		v.dropped.Store(true)
	}
	x.mu.Unlock()
	x.building.Wait()
}
