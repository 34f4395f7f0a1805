package tap

import (
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// handler stands in front of a controller's event handler, or is the tap's
// own one of an informer. Upstream calls it on one goroutine.
type handler struct {
	tap        *Tap
	watched    *watched
	controller string
	next       cache.ResourceEventHandler // nil in the tap's own
	labels     []label
	// held is closed when events may be delivered; nil where they may at once.
	held <-chan struct{}

	// seen is the highest resourceVersion of an event from which the handler
	// has returned.
	seen atomic.Uint64

	registration cache.ResourceEventHandlerRegistration // under watched.mu; nil at first
}

func newHandler(w *watched, controller string, next cache.ResourceEventHandler) *handler {
	return &handler{
		tap:        w.tap,
		watched:    w,
		controller: controller,
		next:       next,
		labels:     []label{{labelController, controller}, {labelInformer, w.name}},
	}
}

// synced reports whether the handler has got its first list. The caller holds
// watched.mu.
func (h *handler) synced() bool { return h.registration != nil && h.registration.HasSynced() }

// Hold keeps events from the handlers that a controller adds from now on, until
// release is called. An informer that other controllers use runs already when a
// constructor adds its handlers, and would deliver to a queue that Attach is about
// to replace. It must be released, also where the controller is not built after
// all; a second call of release does nothing.
func (t *Tap) Hold(controller string) (release func()) {
	held := make(chan struct{})
	t.mu.Lock()
	t.holds[controller] = held
	t.mu.Unlock()
	return sync.OnceFunc(func() {
		t.mu.Lock()
		delete(t.holds, controller)
		t.mu.Unlock()
		close(held)
	})
}

// held is nil where the controller's new handlers get their events at once.
func (t *Tap) held(controller string) <-chan struct{} {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.holds[controller]
}

func (h *handler) raise(rv uint64) {
	for {
		old := h.seen.Load()
		if rv <= old || h.seen.CompareAndSwap(old, rv) {
			return
		}
	}
}

// delivery is one call of a handler, and the frame of its goroutine meanwhile.
type delivery struct {
	frame
	handler  *handler
	change   state.Change
	old, new any // the objects, as delivered
	before   labelSet
	made     atomic.Pointer[state.Cause] // once someone asked
}

func (d *delivery) cause() state.Cause {
	if c := d.made.Load(); c != nil {
		return *c
	}
	c := &state.Cause{Kind: state.CauseEvent, Controller: d.handler.controller, Change: d.change}
	if o := object(d.old); o != nil {
		c.OldRV = o.GetResourceVersion()
	}
	o := object(d.new)
	if o != nil {
		c.NewRV = o.GetResourceVersion()
	} else {
		o = object(d.old)
	}
	if o != nil {
		ref := d.handler.watched.ref(o)
		c.Object = &ref
	}
	d.made.Store(c)
	return *c
}

func (h *handler) begin(change state.Change, old, new any) *delivery {
	if h.held != nil {
		<-h.held
	}
	d := &delivery{handler: h, change: change, old: old, new: new}
	d.labels, d.tap, d.source = h.labels, h.tap, d
	d.before = h.tap.enter(&d.frame)
	h.tap.handling.Add(1)
	return d
}

func (h *handler) end(d *delivery) {
	o := object(d.new)
	if o == nil {
		o = object(d.old)
	}
	h.returned(o)
	h.tap.leave(d.before)
	h.tap.handling.Add(-1)
	h.tap.changed.notify()
}

// returned notes that the handler has returned from an event with o.
func (h *handler) returned(o metav1.Object) {
	if o == nil {
		return
	}
	if rv, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64); err == nil {
		h.raise(rv)
	}
}

// OnAdd is cache.ResourceEventHandler's.
func (h *handler) OnAdd(obj any, isInInitialList bool) {
	change := state.ChangeAdded
	if isInInitialList {
		change = state.ChangeListed
	}
	if h.next == nil {
		h.record(change, nil, object(obj))
		return
	}
	d := h.begin(change, nil, obj)
	defer h.end(d)
	h.next.OnAdd(obj, isInInitialList)
}

// OnUpdate is cache.ResourceEventHandler's.
func (h *handler) OnUpdate(oldObj, newObj any) {
	change := state.ChangeUpdated
	old, new := object(oldObj), object(newObj)
	if old != nil && new != nil && old.GetResourceVersion() == new.GetResourceVersion() {
		change = state.ChangeResync
	}
	if h.next == nil {
		// A relist re-delivers what did not change as well.
		if change != state.ChangeResync {
			h.watched.wentBack(old, new)
			h.record(change, old, new)
		}
		return
	}
	d := h.begin(change, oldObj, newObj)
	defer h.end(d)
	h.next.OnUpdate(oldObj, newObj)
}

// OnDelete is cache.ResourceEventHandler's.
func (h *handler) OnDelete(obj any) {
	if h.next == nil {
		o := object(obj)
		if o != nil {
			h.watched.deleted.note(o)
		}
		h.record(state.ChangeDeleted, nil, o)
		return
	}
	d := h.begin(state.ChangeDeleted, nil, obj)
	defer h.end(d)
	h.next.OnDelete(obj)
}

// record is what the tap's own handler does with an event.
func (h *handler) record(change state.Change, old, new metav1.Object) {
	if new != nil {
		e := state.ObjectChanged{
			Informer: h.watched.name,
			Change:   change,
			Object:   h.watched.ref(new),
			NewRV:    new.GetResourceVersion(),
			Owner:    owner(new),
		}
		if old != nil {
			e.OldRV = old.GetResourceVersion()
		}
		h.watched.delivered(e)
	}
	h.returned(new)
	h.tap.changed.notify()
}

// object returns what a notification is about. It is nil for nil, for what is
// no API object, and for the tombstone of an object that was never seen.
func object(obj any) metav1.Object {
	if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tomb.Obj
	}
	o, _ := obj.(metav1.Object)
	return o
}

// ref names an object of the informer.
func (w *watched) ref(o metav1.Object) state.Ref {
	r := w.kind
	r.Namespace, r.Name, r.UID = o.GetNamespace(), o.GetName(), string(o.GetUID())
	return r
}

// owner returns the managing owner of o. Its resource is guessed from its
// kind, as nothing else is known here.
func owner(o metav1.Object) *state.Ref {
	c := metav1.GetControllerOfNoCopy(o)
	if c == nil {
		return nil
	}
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil {
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(c.Kind))
	return &state.Ref{
		Group:     gv.Group,
		Version:   gv.Version,
		Resource:  plural.Resource,
		Namespace: o.GetNamespace(),
		Name:      c.Name,
		UID:       string(c.UID),
	}
}
