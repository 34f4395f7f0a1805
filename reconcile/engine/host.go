package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Attachable lets other kctl-ctrl processes of this user look into the engine,
// until it stops. That it cannot be done is no reason not to run.
func (e *Engine) Attachable(verb string) {
	host := NewHost(e, verb)
	e.stops.add(func(context.Context) error {
		host.Close()
		return nil
	})
	server, err := attach.Listen(host, attach.Directories(os.Getenv))
	if err != nil {
		e.Note("attach", "get queues, get informers and cache cannot look into this process: %v", err)
		return
	}
	e.stops.add(func(context.Context) error { return server.Close() })
}

// Host answers about an engine of this process.
type Host struct {
	engine   *Engine
	verb     string
	started  time.Time
	progress *tap.Progress

	cancel context.CancelFunc
	done   chan struct{}
}

var _ attach.Host = (*Host)(nil)

// Stores are the informers of the controllers.
func (h *Host) Stores() []tap.Store { return h.progress.Stores() }

// lookEvery is how often it is noted which informers have moved.
const lookEvery = time.Second

// NewHost begins to note the progress of the informers; Close ends that.
func NewHost(s *Engine, verb string) *Host {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Host{
		engine: s, verb: verb, started: time.Now(), progress: s.tap.Progress(),
		cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(h.done)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			h.progress.Look()
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return h
}

// Close ends it.
func (h *Host) Close() {
	h.cancel()
	<-h.done
}

func (h *Host) config() *rest.Config {
	config, _ := h.engine.connection.get()
	return config
}

// Process describes the engine.
func (h *Host) Process() state.Process {
	s := h.engine
	told := s.journal.Snapshot().Session
	config, mode := s.connection.get()
	p := state.Process{
		Source: fmt.Sprintf("%s, process %d", h.verb, os.Getpid()), PID: os.Getpid(), Verb: h.verb, Version: s.spec.Version,
		Context: told.Context, Namespace: told.Namespace, Mode: mode, Started: h.started,
	}
	if s.world.sandbox != nil {
		p.Context = cmp.Or(p.Context, "sandbox")
	}
	if config != nil {
		p.Server = config.Host
	}
	return p
}

// Queues gives the queues of the loops.
func (h *Host) Queues(_ context.Context, q attach.QueueQuery) ([]state.QueueStats, error) {
	return attach.QueuesOf(h.engine.journal.Flush(), time.Now(), q.Keys), nil
}

// Informers gives the informers of the loops.
func (h *Host) Informers(context.Context) ([]state.StoreStats, error) {
	stores := h.progress.Stores()
	stats := make([]state.StoreStats, len(stores))
	for i, s := range stores {
		stats[i] = StoreStats(s)
	}
	return attach.InformersOf(h.engine.journal.Flush(), stats), nil
}

// StoreStats describes an informer.
func StoreStats(s tap.Store) state.StoreStats {
	return state.StoreStats{
		Type: s.Kind.Type(), Version: s.Kind.Version, Metadata: s.Metadata, Synced: s.Synced,
		Objects: s.Objects, ResourceVersion: s.ResourceVersion, LastMoved: s.Moved, Handlers: s.Handlers,
	}
}

// Cache gives what an informer of the loops holds.
func (h *Host) Cache(ctx context.Context, q attach.CacheQuery) (state.CacheView, error) {
	store, err := h.store(q.Type)
	if err != nil {
		return state.CacheView{}, err
	}
	if !store.Synced && informers.Until(ctx, q.Sync, func() bool {
		again, err := h.store(q.Type)
		return err == nil && again.Synced
	}) {
		if store, err = h.store(q.Type); err != nil {
			return state.CacheView{}, err
		}
	}
	if q.Namespace != "" && !h.namespaced(store) {
		q.Namespace = ""
	}
	view := state.CacheView{Store: attach.InformersOf(h.engine.journal.Flush(), []state.StoreStats{StoreStats(*store)})[0]}
	if q.Name != "" {
		err = h.one(ctx, store, q, &view)
	} else {
		view.Objects = objectsOf(store, store.All(), q)
		if q.Compare {
			// The store holds all of the type, or all of the namespace that the loops see.
			of := q
			of.Namespace = h.engine.journal.Snapshot().Session.Namespace
			view.Server = informers.CompareList(ctx, h.config(), typeOfStore(store), of.Namespace, of.Wait, store.Now)
		}
	}
	return view, err
}

// one looks at a single object. Only when neither side has it is it not found.
func (h *Host) one(ctx context.Context, store *tap.Store, q attach.CacheQuery, view *state.CacheView) error {
	held := store.Get(q.Namespace, q.Name)
	if q.Compare {
		view.Server = h.CompareHeld(ctx, store, q)
		held = store.Get(q.Namespace, q.Name) // what was compared
	}
	if held != nil {
		view.Objects = objectsOf(store, []metav1.Object{held}, q)
		return nil
	}
	view.Objects = []state.CachedObject{}
	if view.Server != nil && view.Server.Freshness == state.Missing {
		return nil
	}
	ref := state.Ref{Namespace: q.Namespace, Name: q.Name}
	if !store.Synced {
		return fmt.Errorf("the informer of %s has not synced: whether there is %s is not known", store.Kind.Type(), ref.Key())
	}
	return &attach.NotFoundError{Text: fmt.Sprintf("%s %s is not in the controllers' cache", store.Kind.Type(), ref.Key())}
}

// CompareHeld holds one object of a store against the server's.
func (h *Host) CompareHeld(ctx context.Context, store *tap.Store, q attach.CacheQuery) *state.ServerView {
	return informers.CompareObject(ctx, h.config(), typeOfStore(store), q.Namespace, q.Name, q.Wait, func() (string, bool) {
		o := store.Get(q.Namespace, q.Name)
		if o == nil {
			return "", false
		}
		return o.GetResourceVersion(), true
	})
}

func objectsOf(store *tap.Store, objects []metav1.Object, q attach.CacheQuery) []state.CachedObject {
	out := []state.CachedObject{}
	for _, o := range objects {
		if q.Namespace != "" && o.GetNamespace() != "" && o.GetNamespace() != q.Namespace {
			continue
		}
		c := state.CachedObject{Ref: store.Kind, ResourceVersion: o.GetResourceVersion(), Created: o.GetCreationTimestamp().UTC()}
		c.Namespace, c.Name, c.UID = o.GetNamespace(), o.GetName(), string(o.GetUID())
		if at := o.GetDeletionTimestamp(); at != nil {
			c.Deleting = at.UTC()
		}
		if q.Whole {
			c.Object = redact.Redact(c.Ref, tap.Content(o, scheme.Scheme))
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b state.CachedObject) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// store finds an informer by what the user calls its type. One that holds whole
// objects is preferred to one of metadata.
func (h *Host) store(typ string) (*tap.Store, error) {
	stores := h.progress.Stores()
	typ = strings.ToLower(typ)
	if found := BestStore(stores, schema.ParseGroupResource(typ)); found != nil {
		return found, nil
	}
	if resource, known := h.resource(typ); known {
		if found := BestStore(stores, resource); found != nil {
			return found, nil
		}
		typ = resource.String()
	}
	return nil, &attach.NotFoundError{Text: fmt.Sprintf("no controller of %s has an informer for %q: 'get informers' lists them", h.Process().Source, typ)}
}

// BestStore finds the informer of a type. It takes the group as given, or where there is none the first of any.
func BestStore(stores []tap.Store, want schema.GroupResource) *tap.Store {
	var best *tap.Store
	for i := range stores {
		s := &stores[i]
		if s.Kind.Resource != want.Resource || want.Group != "" && s.Kind.Group != want.Group {
			continue
		}
		if best == nil || best.Metadata && !s.Metadata {
			best = s
		}
	}
	return best
}

// namespaced tells by an object that the store holds, or else asks the server.
func (h *Host) namespaced(store *tap.Store) bool {
	if all := store.All(); len(all) > 0 {
		return all[0].GetNamespace() != ""
	}
	client, err := discovery.NewDiscoveryClientForConfig(h.config())
	if err != nil {
		return true
	}
	list, err := client.ServerResourcesForGroupVersion(schema.GroupVersion{Group: store.Kind.Group, Version: store.Kind.Version}.String())
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == store.Kind.Resource && !r.Namespaced
	})
}

// resource asks the server what a short name or singular stands for.
func (h *Host) resource(typ string) (schema.GroupResource, bool) {
	name, group, _ := strings.Cut(typ, ".")
	client, err := discovery.NewDiscoveryClientForConfig(h.config())
	if err != nil {
		return schema.GroupResource{}, false
	}
	lists, _ := client.ServerPreferredResources() // what failed is not found
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || group != "" && gv.Group != group {
			continue
		}
		for _, r := range list.APIResources {
			if r.SingularName == name || strings.ToLower(r.Kind) == name || slices.Contains(r.ShortNames, name) {
				return schema.GroupResource{Group: gv.Group, Resource: r.Name}, true
			}
		}
	}
	return schema.GroupResource{}, false
}

func typeOfStore(store *tap.Store) owners.Type {
	return owners.Type{Group: store.Kind.Group, Version: store.Kind.Version, Resource: store.Kind.Resource}
}
