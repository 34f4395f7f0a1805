package owners

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// below are the types that built-in controllers put under others, so that a
// watch sees the first of them come.
var below = map[string][]string{
	"deployments.apps":       {"replicasets.apps"},
	"replicasets.apps":       {"pods"},
	"statefulsets.apps":      {"pods", "controllerrevisions.apps", "persistentvolumeclaims"},
	"daemonsets.apps":        {"pods", "controllerrevisions.apps"},
	"cronjobs.batch":         {"jobs.batch"},
	"jobs.batch":             {"pods"},
	"replicationcontrollers": {"pods"},
	"services":               {"endpointslices.discovery.k8s.io"},
	"pods":                   {"resourceclaims.resource.k8s.io"},
	"nodes":                  {"leases.coordination.k8s.io", "csinodes.storage.k8s.io"},
}

// Live is a graph kept up to date by watches. It is safe for concurrent use.
type Live struct {
	changed chan struct{}

	mu       sync.Mutex
	kinds    *Kinds
	objects  map[string]*Object
	complete map[scope]bool
}

// Follow keeps a scanned graph up to date: it watches the metadata of the types
// in the trees, and of those that built-in controllers put below them, in the
// scope of the scan. The watches run until ctx ends. What may not be watched is
// a gap, and stays as it was read.
func (r *Reader) Follow(ctx context.Context, g *Graph, s Scope, trees []*state.OwnerNode) *Live {
	l := &Live{changed: make(chan struct{}, 1), kinds: g.kinds, objects: map[string]*Object{}, complete: g.complete}
	for uid, o := range g.byUID {
		l.objects[uid] = o
	}
	for _, lot := range s.lots(r.watched(g.kinds, trees)) {
		informer := metadatainformer.NewFilteredMetadataInformer(r.metadata, lot.gvr(), lot.namespace, 0, cache.Indexers{}, nil).Informer()
		_ = informer.SetTransform(func(v any) (any, error) { return slim(lot.Type, v) })
		_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
			if gap := gapOf(lot.Type, lot.namespace, "", err); ctx.Err() == nil && gap.Reason == "forbidden" {
				r.gap(gap)
				l.touch()
			}
		})
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(v any) { l.put(v) },
			UpdateFunc: func(_, v any) { l.put(v) },
			DeleteFunc: func(v any) { l.remove(v) },
		})
		go informer.RunWithContext(ctx)
	}
	return l
}

// watched are the types in the trees and those below them.
func (r *Reader) watched(kinds *Kinds, trees []*state.OwnerNode) []Type {
	names := sets.New[string]()
	var add func(string)
	add = func(name string) {
		if !names.Has(name) {
			names.Insert(name)
			for _, b := range below[name] {
				add(b)
			}
		}
	}
	for _, root := range trees {
		root.Walk(func(n *state.OwnerNode) { add(n.Object.Type()) })
	}
	var types []Type
	for _, t := range r.wanted(kinds.Ownable()) {
		if names.Has(t.String()) {
			types = append(types, t)
		}
	}
	return types
}

// kept is an object in an informer's store: what the graph needs, with the
// metadata that the store needs to find it.
type kept struct {
	metav1.ObjectMeta
	*Object
}

func slim(t Type, v any) (any, error) {
	m, isMetadata := v.(*metav1.PartialObjectMetadata)
	if !isMetadata {
		return v, nil
	}
	o := objectOf(t, m)
	return &kept{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}, Object: o}, nil
}

func (l *Live) put(v any) {
	k, isKept := v.(*kept)
	if !isKept {
		return
	}
	l.mu.Lock()
	old := l.objects[k.Object.UID]
	l.objects[k.Object.UID] = k.Object
	l.mu.Unlock()
	if old == nil || old.version != k.version {
		l.touch()
	}
}

func (l *Live) remove(v any) {
	if unknown, missed := v.(cache.DeletedFinalStateUnknown); missed {
		v = unknown.Obj
	}
	k, isKept := v.(*kept)
	if !isKept {
		return
	}
	l.mu.Lock()
	delete(l.objects, k.Object.UID)
	l.mu.Unlock()
	l.touch()
}

func (l *Live) touch() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Wait blocks until something has changed, and a little longer to take more
// changes along. It reports false when ctx has ended.
func (l *Live) Wait(ctx context.Context, longer time.Duration) bool {
	select {
	case <-l.changed:
	case <-ctx.Done():
		return false
	}
	select {
	case <-time.After(longer):
		return true
	case <-ctx.Done():
		return false
	}
}

// Graph is the graph of now.
func (l *Live) Graph() *Graph {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := NewGraph(l.kinds)
	for _, o := range l.objects {
		g.Add(o)
	}
	g.complete = l.complete
	return g
}
