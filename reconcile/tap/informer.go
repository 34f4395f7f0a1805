package tap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// informer is a controller's view of a shared informer: handlers are wrapped
// when they are added. Everything else is the real one's.
type informer struct {
	cache.SharedIndexInformer
	watched    *watched
	controller string
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &resync})
}

func (i *informer) AddEventHandlerWithOptions(next cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	if _, ok := next.(*handler); ok {
		// Wrapped already: the typed and the untyped factory may be stacked.
		return i.SharedIndexInformer.AddEventHandlerWithOptions(next, o)
	}
	i.watched.tap.attachNow(i.controller)
	h := newHandler(i.watched, i.controller, next)
	h.held = i.watched.tap.held(i.controller)
	i.watched.add(h)
	r, err := i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
	if err != nil {
		i.watched.remove(func(o *handler) bool { return o == h })
		return r, err
	}
	i.watched.registered(h, r)
	return r, nil
}

func (i *informer) RemoveEventHandler(r cache.ResourceEventHandlerRegistration) error {
	i.watched.remove(func(h *handler) bool { return h.registration == r })
	return i.SharedIndexInformer.RemoveEventHandler(r)
}

// typeKey names a type in whatever version.
type typeKey struct{ group, resource string }

// watched is one shared informer, however many controllers use it. It adds a
// handler of its own, before any other, which records the informer's deltas.
type watched struct {
	tap  *Tap
	real cache.SharedIndexInformer
	kind state.Ref // without a name
	name string

	own *handler // its next is nil

	mu       sync.RWMutex
	scope    scope
	handlers []*handler // own included
	failed   bool

	deleted deletions

	// regressed is the highest resourceVersion seen when one last went back.
	regressed atomic.Uint64
}

// wrap returns the real informer as the controller is to see it.
func (t *Tap) wrap(controller string, real cache.SharedIndexInformer, r schema.GroupVersionResource, s scope) cache.SharedIndexInformer {
	// Generated code wraps an informer anew at every call; its store is
	// always the same.
	key := real.GetStore()
	t.mu.Lock()
	w := t.informers[key]
	if w == nil {
		kind := state.Ref{Group: r.Group, Version: r.Version, Resource: r.Resource}
		w = &watched{tap: t, real: real, kind: kind, name: kind.Type()}
		t.informers[key] = w
		k := typeKey{r.Group, r.Resource}
		t.byType[k] = append(t.byType[k], w)
		w.watch()
	}
	t.mu.Unlock()
	w.confine(s)
	return &informer{SharedIndexInformer: real, watched: w, controller: controller}
}

// watch adds the handler of the tap itself. The caller holds the tap's lock,
// so that no other handler is added before.
func (w *watched) watch() {
	t := w.tap
	t.rec.Record(state.InformerChanged{Informer: w.name, Status: state.InformerListing})
	// Fails on an informer that runs already: its errors then stay unseen.
	_ = w.real.SetWatchErrorHandlerWithContext(w.watchError)

	w.own = newHandler(w, "", nil)
	w.add(w.own)
	var noResync time.Duration
	r, err := w.real.AddEventHandlerWithOptions(w.own, cache.HandlerOptions{ResyncPeriod: &noResync})
	if err != nil { // it has ended already
		w.remove(func(h *handler) bool { return h == w.own })
		t.rec.Record(state.InformerChanged{Informer: w.name, Status: state.InformerStopped, Reason: err.Error()})
		return
	}
	w.registered(w.own, r)
	t.waiters.Go(func() {
		select {
		case <-r.HasSyncedChecker().Done():
			w.synced()
		case <-t.done:
		}
	})
}

func (w *watched) synced() {
	w.tap.rec.Record(state.InformerChanged{
		Informer:        w.name,
		Status:          state.InformerSynced,
		Objects:         len(w.real.GetStore().ListKeys()),
		ResourceVersion: w.real.LastSyncResourceVersion(),
	})
	w.tap.changed.notify()
}

// watchError records what ended a list or a watch, and then does what upstream
// does without a handler.
func (w *watched) watchError(ctx context.Context, r *cache.Reflector, err error) {
	switch {
	case errors.Is(err, io.EOF): // closed in the ordinary way
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		w.tap.rec.Record(state.Gap{Informer: w.name, Reason: err.Error()})
		w.tap.rec.Record(state.InformerChanged{Informer: w.name, Status: state.InformerRelisted, Reason: err.Error()})
	default:
		w.setFailed(true)
		w.tap.rec.Record(state.InformerChanged{Informer: w.name, Status: state.InformerFailed, Reason: err.Error()})
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// wentBack records that the resourceVersion of an object is lower than it was, as after
// a restore of etcd: once, until there is a version higher than all before.
func (w *watched) wentBack(old, new metav1.Object) {
	if old == nil || new == nil || version(new) == 0 || version(new) >= version(old) {
		return
	}
	highest := w.own.seen.Load()
	if w.regressed.Swap(highest) == highest {
		return
	}
	reason := fmt.Sprintf("the server's resourceVersions went back, from %d to %d, as after a restore of etcd", version(old), version(new))
	w.tap.rec.Record(state.Gap{Informer: w.name, Reason: reason})
	w.tap.rec.Record(state.InformerChanged{Informer: w.name, Status: state.InformerRelisted, Reason: reason})
}

// setFailed returns what it was before.
func (w *watched) setFailed(failed bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.failed
	w.failed = failed
	return was
}

// delivered records an event of the informer, from its own handler.
func (w *watched) delivered(e state.ObjectChanged) {
	w.mu.RLock()
	failed := w.failed
	w.mu.RUnlock()
	if failed && w.setFailed(false) {
		w.synced()
	}
	w.tap.rec.Record(e)
}

func (w *watched) confine(s scope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.namespace != "" {
		w.scope.namespace = s.namespace
	}
	if s.tweak != nil {
		w.scope.tweak = s.tweak
	}
}

func (w *watched) add(h *handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// What the store held when h joined is at least as new as what our own
	// handler has seen; h gets it as its first list.
	if w.own != nil {
		h.raise(w.own.seen.Load())
	}
	w.handlers = append(w.handlers, h)
	w.tap.changed.notify()
}

func (w *watched) registered(h *handler, r cache.ResourceEventHandlerRegistration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h.registration = r
}

func (w *watched) remove(which func(*handler) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers = slices.DeleteFunc(w.handlers, which)
}

// unsynced returns the names of the informers that have a handler which has
// not got its first list.
func (t *Tap) unsynced() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var names []string
	for _, w := range t.informers {
		if !w.hasSynced() && !w.real.IsStopped() {
			names = append(names, w.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (w *watched) hasSynced() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, h := range w.handlers {
		if !h.synced() {
			return false
		}
	}
	return true
}
