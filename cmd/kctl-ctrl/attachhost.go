package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// attachable lets other kctl-ctrl processes of this user look into the session,
// until it stops. That it cannot be done is no reason not to run.
func (s *session) attachable(verb string) {
	host := newSessionHost(s, verb)
	s.onStop(func(context.Context) error {
		host.stop()
		return nil
	})
	server, err := attach.Listen(host, attach.Directories(os.Getenv))
	if err != nil {
		s.note("attach", "get queues, get informers and cache cannot look into this process: %v", err)
		return
	}
	s.onStop(func(context.Context) error { return server.Close() })
}

// sessionHost answers about a session of this process.
type sessionHost struct {
	session  *session
	verb     string
	started  time.Time
	progress *tap.Progress

	cancel context.CancelFunc
	done   chan struct{}
}

var _ attach.Host = (*sessionHost)(nil)

// lookEvery is how often it is noted which informers have moved.
const lookEvery = time.Second

// newSessionHost begins to note the progress of the informers; stop ends that.
func newSessionHost(s *session, verb string) *sessionHost {
	ctx, cancel := context.WithCancel(context.Background())
	h := &sessionHost{
		session: s, verb: verb, started: time.Now(), progress: s.tap.Progress(),
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

func (h *sessionHost) stop() {
	h.cancel()
	<-h.done
}

func (h *sessionHost) config() *rest.Config {
	config, _ := h.session.connection()
	return config
}

// Process describes the session.
func (h *sessionHost) Process() state.Process {
	s := h.session
	told := s.hub.Snapshot().Session
	config, mode := s.connection()
	p := state.Process{
		Source: fmt.Sprintf("%s, process %d", h.verb, os.Getpid()), PID: os.Getpid(), Verb: h.verb, Version: about.Version().Version,
		Context: told.Context, Namespace: told.Namespace, Mode: mode, Started: h.started,
	}
	if s.sandbox != nil {
		p.Context = cmp.Or(p.Context, "sandbox")
	}
	if config != nil {
		p.Server = config.Host
	}
	return p
}

// Queues gives the queues of the loops.
func (h *sessionHost) Queues(_ context.Context, q attach.QueueQuery) ([]state.QueueStats, error) {
	return attach.QueuesOf(h.session.hub.Flush(), time.Now(), q.Keys), nil
}

// Informers gives the informers of the loops.
func (h *sessionHost) Informers(context.Context) ([]state.StoreStats, error) {
	stores := h.progress.Stores()
	stats := make([]state.StoreStats, len(stores))
	for i, s := range stores {
		stats[i] = storeStats(s)
	}
	return attach.InformersOf(h.session.hub.Flush(), stats), nil
}

func storeStats(s tap.Store) state.StoreStats {
	return state.StoreStats{
		Type: s.Kind.Type(), Version: s.Kind.Version, Metadata: s.Metadata, Synced: s.Synced,
		Objects: s.Objects, ResourceVersion: s.ResourceVersion, LastMoved: s.Moved, Handlers: s.Handlers,
	}
}

// Cache gives what an informer of the loops holds.
func (h *sessionHost) Cache(ctx context.Context, q attach.CacheQuery) (state.CacheView, error) {
	store, err := h.store(q.Type)
	if err != nil {
		return state.CacheView{}, err
	}
	if !store.Synced && waitFor(ctx, q.Sync, func() bool {
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
	view := state.CacheView{Store: attach.InformersOf(h.session.hub.Flush(), []state.StoreStats{storeStats(*store)})[0]}
	if q.Name != "" {
		err = h.one(ctx, store, q, &view)
	} else {
		view.Objects = objectsOf(store, store.All(), q)
		if q.Compare {
			// The store holds all of the type, or all of the namespace that the loops see.
			of := q
			of.Namespace = h.session.hub.Snapshot().Session.Namespace
			view.Server = compareList(ctx, h.config(), typeOfStore(store), of, store.Now)
		}
	}
	return view, err
}

// one looks at a single object. Only when neither side has it is it not found.
func (h *sessionHost) one(ctx context.Context, store *tap.Store, q attach.CacheQuery, view *state.CacheView) error {
	held := store.Get(q.Namespace, q.Name)
	if q.Compare {
		view.Server = h.compareHeld(ctx, store, q)
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
	return &attach.NotFoundError{Text: fmt.Sprintf("%s %s is not in the cache of the loops", store.Kind.Type(), ref.Key())}
}

// compareHeld holds one object of a store against the server's.
func (h *sessionHost) compareHeld(ctx context.Context, store *tap.Store, q attach.CacheQuery) *state.ServerView {
	return compareOne(ctx, h.config(), typeOfStore(store), q, func() (string, bool) {
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
func (h *sessionHost) store(typ string) (*tap.Store, error) {
	stores := h.progress.Stores()
	typ = strings.ToLower(typ)
	if found := bestStore(stores, schema.ParseGroupResource(typ)); found != nil {
		return found, nil
	}
	if resource, known := h.resource(typ); known {
		if found := bestStore(stores, resource); found != nil {
			return found, nil
		}
		typ = resource.String()
	}
	return nil, &attach.NotFoundError{Text: fmt.Sprintf("no loop of %s has an informer for %q: 'get informers' lists them", h.Process().Source, typ)}
}

// bestStore takes the group as given, or where there is none the first of any.
func bestStore(stores []tap.Store, want schema.GroupResource) *tap.Store {
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
func (h *sessionHost) namespaced(store *tap.Store) bool {
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
func (h *sessionHost) resource(typ string) (schema.GroupResource, bool) {
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

// grace is how long an event may take from the server to the store before an
// object counts as behind.
const grace = 2 * time.Second

// compareList holds a store's resourceVersion against that of a list of the server. A
// store that is at the server's is current; one that is not may be of a quiet type,
// and gets there with the next bookmark.
func compareList(ctx context.Context, config *rest.Config, t owners.Type, q attach.CacheQuery, now func() string) *state.ServerView {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return unasked(err, "")
	}
	asked := time.Now()
	list, err := client.Resource(gvrOf(t)).Namespace(q.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return unasked(err, "list "+t.String())
	}
	v := &state.ServerView{ResourceVersion: list.ResourceVersion, Asked: asked.UTC()}
	reached := func() bool { return atLeast(now(), v.ResourceVersion) }
	patience := max(q.Wait, grace/4)
	v.Freshness = state.Current
	if !waitFor(ctx, patience, reached) {
		v.Freshness = state.Undecided
		v.Reason = "a quiet type gets there with the server's next bookmark, about every minute; --wait=75s waits for it"
		if q.Wait >= bookmarkPeriod {
			v.Freshness, v.Reason = state.Behind, fmt.Sprintf("a bookmark was due, and did not come in %s", state.Short(q.Wait))
		}
	}
	return v
}

// bookmarkPeriod is a little more than the minute after which the server sends a
// bookmark (k8s.io/apiserver v0.37.1 pkg/storage/cacher: defaultBookmarkFrequency).
const bookmarkPeriod = 65 * time.Second

// compareOne holds one object of a store against the server's. held gives the store's
// resourceVersion of it, and whether it is there.
func compareOne(ctx context.Context, config *rest.Config, t owners.Type, q attach.CacheQuery, held func() (string, bool)) *state.ServerView {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return unasked(err, "")
	}
	v := &state.ServerView{Asked: time.Now().UTC()}
	o, err := client.Resource(gvrOf(t)).Namespace(q.Namespace).Get(ctx, q.Name, metav1.GetOptions{})
	patience := max(q.Wait, grace)
	switch {
	case apierrors.IsNotFound(err):
		v.Freshness = state.Current
		if !waitFor(ctx, patience, func() bool { _, there := held(); return !there }) {
			v.Freshness = state.Gone
		}
	case err != nil:
		return unasked(err, "get "+t.String()+" "+q.Name)
	default:
		v.ResourceVersion, v.Freshness = o.ResourceVersion, state.Current
		if !waitFor(ctx, patience, func() bool {
			version, there := held()
			return there && atLeast(version, o.ResourceVersion)
		}) {
			v.Freshness = state.Behind
			if _, there := held(); !there {
				v.Freshness = state.Missing
			}
		}
	}
	return v
}

func typeOfStore(store *tap.Store) owners.Type {
	return owners.Type{Group: store.Kind.Group, Version: store.Kind.Version, Resource: store.Kind.Resource}
}

func unasked(err error, what string) *state.ServerView {
	return &state.ServerView{Freshness: state.Unasked, Reason: explain.Error(err, what).Error(), Asked: time.Now().UTC()}
}

// atLeast compares resourceVersions; those that are no numbers are equal or not.
func atLeast(have, want string) bool {
	order, err := resourceversion.CompareResourceVersion(have, want)
	if err != nil {
		return have == want
	}
	return order >= 0
}

// waitFor looks until the condition holds or the time is over.
func waitFor(ctx context.Context, within time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return holds()
		case <-ctx.Done():
			return false
		}
	}
}
