package tap

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Seen reports whether the controllers know of a write: every wrapped handler
// of the object's type has got its first list, and has returned from an event
// with resourceVersion rv or a later one. It is true if no handler watches the
// type, and for an rv that is not a number.
//
// Only the type and the namespace of ref count. Handlers that only see objects
// of another namespace are left out, as are those of informers narrowed by
// list options, which may never see the write. ResourceVersions are compared
// as numbers, across the objects of a type; a relist delivers its objects in
// no order, so during one Seen may be true a moment early.
func (t *Tap) Seen(ref state.Ref, rv string) bool {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return true
	}
	for _, w := range t.watching(ref) {
		if !w.reached(n) {
			return false
		}
	}
	return true
}

// SeenDeleted reports whether the controllers know of a deletion: no informer
// of the type holds the object with ref's UID, or it holds it with a
// deletionTimestamp, and every wrapped handler has returned from the event that
// says so. Informers are chosen as in Seen.
//
// A ref without a name stands for a deletecollection: all objects of the type in
// the namespace, or everywhere without one. An object that the request's
// selectors left out, or that was created later, counts as well: the ref does
// not tell them apart.
func (t *Tap) SeenDeleted(ref state.Ref) bool {
	for _, w := range t.watching(ref) {
		if ref.Name == "" {
			if !w.seenCollectionDeleted(ref.Namespace) {
				return false
			}
			continue
		}
		if rv, ok := w.deleted.of(ref.UID); ok {
			if !w.reached(rv) {
				return false
			}
			continue
		}
		if o := w.get(ref); o != nil && !w.seenDeletion(o) {
			return false
		}
	}
	return true
}

// seenDeletion reports whether o, which the store holds, is being deleted, to
// the knowledge of all handlers.
func (w *watched) seenDeletion(o metav1.Object) bool {
	return o.GetDeletionTimestamp() != nil && w.reached(version(o))
}

// seenCollectionDeleted reports whether all objects in the namespace are gone or
// being deleted, to the knowledge of all handlers.
func (w *watched) seenCollectionDeleted(namespace string) bool {
	if !w.reached(w.deleted.last.Load()) {
		return false
	}
	for _, obj := range w.in(namespace) {
		if o := object(obj); o != nil && !w.seenDeletion(o) {
			return false
		}
	}
	return true
}

// in returns what the store holds of a namespace, of all without one.
func (w *watched) in(namespace string) []any {
	if namespace == "" {
		return w.real.GetStore().List()
	}
	if objs, err := w.real.GetIndexer().ByIndex(cache.NamespaceIndex, namespace); err == nil {
		return objs
	}
	// It has no such index.
	return slices.DeleteFunc(w.real.GetStore().List(), func(obj any) bool {
		o := object(obj)
		return o == nil || o.GetNamespace() != namespace
	})
}

// version returns the resourceVersion of o as a number, zero if it is none.
func version(o metav1.Object) uint64 {
	rv, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	return rv
}

// watching returns the informers that must see a change of ref.
func (t *Tap) watching(ref state.Ref) []*watched {
	t.mu.RLock()
	all := t.byType[typeKey{ref.Group, ref.Resource}]
	t.mu.RUnlock()
	var ws []*watched
	for _, w := range all {
		if w.covers(ref) && !w.real.IsStopped() {
			ws = append(ws, w)
		}
	}
	return ws
}

func (w *watched) covers(ref state.Ref) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.scope.tweak == nil && (w.scope.namespace == "" || w.scope.namespace == ref.Namespace)
}

// reached reports whether all handlers have returned from rv.
func (w *watched) reached(rv uint64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, h := range w.handlers {
		if h.seen.Load() < rv || !h.synced() {
			return false
		}
	}
	return true
}

// get returns the object from the informer's store. A ref with a UID is not
// satisfied by a later object of the same name.
func (w *watched) get(ref state.Ref) metav1.Object {
	obj, ok, err := w.real.GetStore().GetByKey(ref.Key())
	if err != nil || !ok {
		return nil
	}
	o := object(obj)
	if o == nil || ref.UID != "" && string(o.GetUID()) != ref.UID {
		return nil
	}
	return o
}

// keptDeletions bounds the deletions that one informer remembers. Of an older
// one SeenDeleted knows only that the store does not hold the object.
const keptDeletions = 16 << 10

// deletions remembers the last deletions of an informer, by UID, with the
// resourceVersion at which the object was gone.
type deletions struct {
	mu   sync.Mutex
	rvs  map[string]uint64
	uids []string // a ring
	at   int

	last atomic.Uint64 // the highest of all rvs
}

func (d *deletions) note(o metav1.Object) {
	uid := string(o.GetUID())
	// A tombstone carries the last version seen instead, which is reached.
	rv := version(o)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rvs == nil {
		d.rvs = map[string]uint64{}
	}
	if len(d.uids) < keptDeletions {
		d.uids = append(d.uids, uid)
	} else {
		delete(d.rvs, d.uids[d.at])
		d.uids[d.at] = uid
		d.at = (d.at + 1) % keptDeletions
	}
	d.rvs[uid] = rv
	d.last.Store(max(d.last.Load(), rv))
}

func (d *deletions) of(uid string) (rv uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rv, ok = d.rvs[uid]
	return rv, ok
}
