package owners

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// Live is a graph kept up to date by watches. It is safe for concurrent use.
type Live struct {
	changed chan struct{}

	mu       sync.Mutex
	kinds    *Kinds
	objects  map[string]*Object
	complete map[scope]bool
	// shown is the content of the displayed trees. Between a Graph and the next Show,
	// while drawing is set, since has what changed.
	shown   concern
	drawing bool
	since   []*Object
}

// concern is what a change must affect to be visible in trees.
type concern struct {
	// members are the objects in them and their owners, by UID.
	members, owners sets.Set[string]
	// named are these owners, by kind and name: another object may take the name.
	named sets.Set[string]
}

func concernOf(trees []*document.OwnerNode) concern {
	c := concern{members: sets.New[string](), owners: sets.New[string](), named: sets.New[string]()}
	for _, root := range trees {
		root.Walk(func(n *document.OwnerNode) {
			c.members.Insert(n.Object.UID)
			for _, ref := range n.Object.Owners {
				c.owners.Insert(ref.UID)
				c.named.Insert(ref.Kind + "/" + ref.Name)
			}
		})
	}
	return c
}

func (c concern) touchedBy(o *Object) bool {
	return c.members.Has(o.UID) || c.owners.Has(o.UID) || c.named.Has(o.Kind+"/"+o.Name) ||
		slices.ContainsFunc(o.Owners, func(ref document.OwnerRef) bool { return c.members.Has(ref.UID) })
}

// Follow keeps a scanned graph up to date: it watches the metadata of every type that
// was read, in the scope of the scan, so that the first dependent of a type is seen
// when it is created. The watches run until ctx ends; at most as many are started at a
// time as requests may be in flight. What cannot be watched is a gap and stays as it
// was read; what the scan was not allowed to read is ignored. Types that the server
// starts to serve later are not watched.
func (r *Reader) Follow(ctx context.Context, g *Graph, s Scope, trees []*document.OwnerNode) *Live {
	l := &Live{
		changed: make(chan struct{}, 1), kinds: g.kinds, objects: map[string]*Object{}, complete: g.complete,
		shown: concernOf(trees),
	}
	for uid, o := range g.byUID {
		l.objects[uid] = o
	}
	lots := r.watched(s, g.kinds, trees)
	starting := make(chan struct{}, r.opts.Concurrency)
	go func() {
		for _, lot := range lots {
			select {
			case starting <- struct{}{}:
			case <-ctx.Done():
				return
			}
			r.follow(ctx, l, lot, func() { <-starting })
		}
	}()
	return l
}

// follow starts one watch. started is called once, when it has started or failed.
func (r *Reader) follow(ctx context.Context, l *Live, lot lot, started func()) {
	var once sync.Once
	informer := metadatainformer.NewFilteredMetadataInformer(r.metadata, lot.gvr(), lot.namespace, 0, cache.Indexers{}, nil).Informer()
	_ = informer.SetTransform(func(v any) (any, error) { return slim(lot.Type, v) })
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		once.Do(started)
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
	go func() {
		cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
		once.Do(started)
	}()
}

// watched are the lists to watch: those of the types in the trees first.
func (r *Reader) watched(s Scope, kinds *Kinds, trees []*document.OwnerNode) []lot {
	present := sets.New[string]()
	for _, root := range trees {
		root.Walk(func(n *document.OwnerNode) { present.Insert(n.Object.Type()) })
	}
	var lots, later []lot
	for _, l := range s.lots(r.wanted(kinds.Ownable())) {
		var readable []lot
		if !r.unreadable(l) {
			readable = []lot{l}
		} else {
			for _, ns := range l.instead {
				if part := (lot{Type: l.Type, namespace: ns}); !r.unreadable(part) {
					readable = append(readable, part)
				}
			}
		}
		if present.Has(l.Type.String()) {
			lots = append(lots, readable...)
		} else {
			later = append(later, readable...)
		}
	}
	return append(lots, later...)
}

// unreadable reports whether the scan was not allowed to list it, or found too many
// objects.
func (r *Reader) unreadable(l lot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gap := range r.gaps {
		if gap.Type == l.Type.String() && gap.Namespace == l.namespace && gap.Name == "" && (gap.Reason == "forbidden" || gap.Reason == "budget") {
			return true
		}
	}
	return false
}

// kept is an object in an informer's store: what the graph needs, and the metadata that
// the store needs as its key.
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
	if old != nil && old.version == k.version {
		l.mu.Unlock()
		return
	}
	concerned := l.concerns(k.Object)
	l.mu.Unlock()
	if concerned {
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
	concerned := l.concerns(k.Object)
	l.mu.Unlock()
	if concerned {
		l.touch()
	}
}

// concerns records a change and reports whether it is visible in the displayed trees.
// l.mu is held.
func (l *Live) concerns(o *Object) bool {
	if l.drawing {
		l.since = append(l.since, o)
	}
	return l.shown.touchedBy(o)
}

func (l *Live) touch() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Wait blocks until a visible change has happened, and a little longer to batch further
// changes. It returns false when ctx has ended.
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

// Show declares which trees of the last Graph are displayed. Wait returns only for
// changes that affect them; other changes in a busy namespace are ignored.
func (l *Live) Show(trees []*document.OwnerNode) {
	shown := concernOf(trees)
	l.mu.Lock()
	l.shown = shown
	missed := slices.ContainsFunc(l.since, l.shown.touchedBy)
	l.drawing, l.since = false, nil
	l.mu.Unlock()
	if missed {
		l.touch()
	}
}

// Graph is the current graph.
func (l *Live) Graph() *Graph {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawing, l.since = true, nil
	g := NewGraph(l.kinds)
	for _, o := range l.objects {
		g.Add(o)
	}
	g.complete = l.complete
	return g
}
