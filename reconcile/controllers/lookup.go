package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Lookup returns an object as the loops see it, from the cache of an informer
// that one of them has; nil if there is none or it does not hold the object. It
// sends no request. The result is the informer's: nobody may change it. It has no
// managedFields, and does not say its kind.
func (m *Manager) Lookup(ref state.Ref) runtime.Object {
	w, types := m.world.Load(), m.informed.Load()
	if w == nil || types == nil {
		return nil
	}
	of, ok := (*types)[schema.GroupResource{Group: ref.Group, Resource: ref.Resource}]
	if !ok {
		return nil
	}
	store := of.storeIn(w.informers)
	if store == nil {
		return nil
	}
	obj, found, err := store.GetByKey(cache.ObjectName{Namespace: ref.Namespace, Name: ref.Name}.String())
	if err != nil || !found {
		return nil
	}
	object, _ := obj.(runtime.Object)
	return object
}

// informed is a type that a built controller has an informer for. ForResource on any other
// would make one.
type informed struct {
	schema.GroupVersionResource

	once  sync.Once
	store cache.Store
}

// storeIn is the informer's store, nil where the factory does not know the type. It is
// asked for each write, and ForResource takes longer than the store does.
func (t *informed) storeIn(factory informers.SharedInformerFactory) cache.Store {
	t.once.Do(func() {
		if informer, err := factory.ForResource(t.GroupVersionResource); err == nil {
			t.store = informer.Informer().GetStore()
		}
	})
	return t.store
}

// noteInformers keeps what Lookup looks in.
func (m *Manager) noteInformers() {
	types := map[schema.GroupResource]*informed{}
	m.eachBuilt(func(d *Descriptor, _ []loop) {
		for _, t := range d.informers() {
			types[t.GroupResource()] = &informed{GroupVersionResource: t}
		}
	})
	m.informed.Store(&types)
}
