package informers

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// showing is the relation of an object on its way to the reflector to the index.
type showing int

// passes processes an object on its way to the reflector. After the first list, only
// the handler changes the index.
func (in *informer) passes(object runtime.Object, as showing) metav1.Object {
	if u, ok := object.(*unstructured.Unstructured); ok && isSecret(in.typ) {
		conceal(u)
	}
	o, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	if as == hidden {
		return o
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.synced:
	case as == unshown:
		in.index.delete(o.GetNamespace(), o.GetName())
	default:
		in.index.offer(o, as == shown)
	}
	return o
}

// OnAdd implements cache.ResourceEventHandler.
func (in *informer) OnAdd(obj any, isInInitialList bool) {
	o, _ := obj.(metav1.Object)
	if o == nil {
		return
	}
	if isInInitialList {
		in.index.put(o, time.Time{})
		if !in.tooMany() {
			in.changed(state.ChangeListed, "", o)
		}
		return
	}
	in.index.put(o, in.options.Now())
	in.changed(state.ChangeAdded, "", o)
}

// OnUpdate implements cache.ResourceEventHandler.
func (in *informer) OnUpdate(oldObj, newObj any) {
	old, _ := oldObj.(metav1.Object)
	o, _ := newObj.(metav1.Object)
	if o == nil {
		return
	}
	if old != nil && old.GetResourceVersion() == o.GetResourceVersion() {
		// A relist also delivers unchanged objects. They are new copies, which the
		// store references from now on.
		in.index.renew(o)
		return
	}
	in.index.put(o, in.options.Now())
	before := ""
	if old != nil {
		before = old.GetResourceVersion()
	}
	in.changed(state.ChangeUpdated, before, o)
}

// OnDelete implements cache.ResourceEventHandler.
func (in *informer) OnDelete(obj any) {
	if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tomb.Obj
	}
	o, _ := obj.(metav1.Object)
	if o == nil {
		return
	}
	in.index.delete(o.GetNamespace(), o.GetName())
	in.changed(state.ChangeDeleted, "", o)
}

// tooMany decides, when the first object of the list is delivered, whether the objects
// are recorded one by one.
func (in *informer) tooMany() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.decided {
		in.decided, in.quiet = true, in.index.len() > in.options.Listed
	}
	return in.quiet
}

func (in *informer) changed(change state.Change, before string, o metav1.Object) {
	in.mu.Lock()
	in.events++
	if v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64); err == nil {
		in.handled = max(in.handled, v)
	}
	in.mu.Unlock()
	in.record(state.ObjectChanged{
		Informer: in.kind.Type(), Change: change, Object: in.ref(o), OldRV: before, NewRV: o.GetResourceVersion(), Owner: ownerOf(o),
	})
}

func (in *informer) ref(o metav1.Object) state.Ref {
	r := in.kind
	r.Namespace, r.Name, r.UID = o.GetNamespace(), o.GetName(), string(o.GetUID())
	return r
}

// ownerOf returns the controlling owner. Its resource is derived from its kind, because
// nothing else is known here.
func ownerOf(o metav1.Object) *state.Ref {
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
		Group: gv.Group, Version: gv.Version, Resource: plural.Resource,
		Namespace: o.GetNamespace(), Name: c.Name, UID: string(c.UID),
	}
}
