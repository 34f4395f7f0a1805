package tap

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Store is one informer that a controller uses, as it is at one moment.
type Store struct {
	// Kind is the type without a name.
	Kind state.Ref
	// Metadata: it holds the metadata of objects only. It is known once there
	// is one.
	Metadata bool
	// Synced: every handler has got its first list.
	Synced  bool
	Stopped bool
	Objects int
	// ResourceVersion is that of its last list, event or bookmark.
	ResourceVersion string
	// Moved is when ResourceVersion was last seen to move; see Progress.
	Moved time.Time
	// Handlers are the controllers', in the order in which they joined.
	Handlers []state.HandlerStats

	watched *watched
}

// Stores returns the informers that the controllers have asked for, by type and
// version. A type can have several.
func (t *Tap) Stores() []Store {
	t.mu.RLock()
	stores := make([]Store, 0, len(t.informers))
	for _, w := range t.informers {
		stores = append(stores, Store{Kind: w.kind, watched: w})
	}
	t.mu.RUnlock()
	for i := range stores {
		stores[i].look()
	}
	slices.SortFunc(stores, func(a, b Store) int {
		return cmp.Or(cmp.Compare(a.Kind.Type(), b.Kind.Type()), cmp.Compare(a.Kind.Version, b.Kind.Version),
			compareBool(a.Metadata, b.Metadata), cmp.Compare(len(a.Handlers), len(b.Handlers)))
	})
	return stores
}

// Progress notes when the resourceVersions of informers move. Bookmarks move
// them too, and nothing else tells of those: they reach no handler.
type Progress struct {
	tap *Tap

	mu   sync.Mutex
	last map[*watched]position
}

type position struct {
	resourceVersion string
	since           time.Time
}

// Progress returns one that has noted nothing yet.
func (t *Tap) Progress() *Progress { return &Progress{tap: t, last: map[*watched]position{}} }

// Look notes what has moved since it was called last; call it about once a
// second. It costs a lock per informer.
func (p *Progress) Look() {
	p.tap.mu.RLock()
	all := make([]*watched, 0, len(p.tap.informers))
	for _, w := range p.tap.informers {
		all = append(all, w)
	}
	p.tap.mu.RUnlock()
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range all {
		rv := w.real.LastSyncResourceVersion()
		if old := p.last[w]; rv != old.resourceVersion {
			p.last[w] = position{rv, now}
		}
	}
}

// Stores is Tap.Stores with what was noted.
func (p *Progress) Stores() []Store {
	p.Look()
	stores := p.tap.Stores()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range stores {
		stores[i].Moved = p.last[stores[i].watched].since
	}
	return stores
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (s *Store) look() {
	w := s.watched
	s.ResourceVersion, s.Stopped = w.real.LastSyncResourceVersion(), w.real.IsStopped()
	keys := w.real.GetStore().ListKeys()
	s.Objects = len(keys)
	if len(keys) > 0 {
		if o, found, err := w.real.GetStore().GetByKey(keys[0]); err == nil && found {
			_, s.Metadata = o.(*metav1.PartialObjectMetadata)
		}
	}
	s.Synced = w.hasSynced()
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, h := range w.handlers {
		if h.next == nil {
			continue
		}
		stats := state.HandlerStats{Controller: h.controller, Synced: h.synced()}
		if seen := h.seen.Load(); seen > 0 {
			stats.ResourceVersion = strconv.FormatUint(seen, 10)
		}
		s.Handlers = append(s.Handlers, stats)
	}
}

// Now returns the store's resourceVersion as it is now.
func (s *Store) Now() string { return s.watched.real.LastSyncResourceVersion() }

// Get returns an object of the store, nil where it does not hold it. The store's
// own copy is returned: it must not be modified.
func (s *Store) Get(namespace, name string) metav1.Object {
	return s.watched.get(state.Ref{Namespace: namespace, Name: name})
}

// All returns the store's objects in no order; see Get.
func (s *Store) All() []metav1.Object {
	var all []metav1.Object
	for _, o := range s.watched.real.GetStore().List() {
		if o := object(o); o != nil {
			all = append(all, o)
		}
	}
	return all
}

// Content returns a copy of an object of the store as unstructured.Unstructured
// has it, apiVersion and kind filled in where the scheme knows them; nil for what
// is no object of the API.
func Content(o metav1.Object, kinds runtime.ObjectTyper) map[string]any {
	typed, ok := o.(runtime.Object)
	if !ok {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil
	}
	u := &unstructured.Unstructured{Object: content}
	if known, _, err := kinds.ObjectKinds(typed); err == nil && u.GetKind() == "" {
		u.SetGroupVersionKind(known[0])
	}
	return content
}
