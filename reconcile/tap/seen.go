package tap

import (
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

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

// SeenDeleted reports whether the controllers know that the object with ref's UID
// is gone: no informer of its type holds it, and every wrapped handler has
// returned from the event of its deletion. Informers are chosen as in Seen.
func (t *Tap) SeenDeleted(ref state.Ref) bool {
	for _, w := range t.watching(ref) {
		if rv, ok := w.deleted.of(ref.UID); ok {
			if !w.reached(rv) {
				return false
			}
			continue
		}
		if w.get(ref) != nil {
			return false
		}
	}
	return true
}

// Lookup returns a copy of what an informer holds of an object, as an
// unstructured object, without apiVersion and kind where the informer's type
// leaves them out. It reports false where no informer holds all of the object
// in ref's version.
func (t *Tap) Lookup(ref state.Ref) (map[string]any, bool) {
	t.mu.RLock()
	all := t.byType[typeKey{ref.Group, ref.Resource}]
	t.mu.RUnlock()
	for _, w := range all {
		o := w.get(ref)
		if _, partial := o.(*metav1.PartialObjectMetadata); o == nil || partial || ref.Version != w.kind.Version {
			continue
		}
		if u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o); err == nil {
			return u, true
		}
	}
	return nil, false
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
}

func (d *deletions) note(o metav1.Object) {
	uid := string(o.GetUID())
	// A tombstone carries the last version seen instead, which is reached.
	rv, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
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
}

func (d *deletions) of(uid string) (rv uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rv, ok = d.rvs[uid]
	return rv, ok
}
