package tuibackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// loopCache is the cache of the loops themselves: what is shown is what they act
// on. The store has no order, so that one is made when the store has moved and
// somebody looks.
type loopCache struct {
	host    *engine.Host
	engine  *engine.Engine
	typ     owners.Type
	clients *screenCaches

	mu      sync.Mutex
	query   port.CacheQuery
	version string
	objects []metav1.Object
}

var _ port.Cache = (*loopCache)(nil)

func (c *loopCache) store() *tap.Store {
	return engine.BestStore(c.engine.Tap().Stores(), schema.GroupResource{Group: c.typ.Group, Resource: c.typ.Resource})
}

func (c *loopCache) Stats() state.StoreStats {
	stores := c.host.Stores()
	s := engine.BestStore(stores, schema.GroupResource{Group: c.typ.Group, Resource: c.typ.Resource})
	if s == nil {
		return state.StoreStats{Type: c.typ.String(), Status: state.InformerStopped}
	}
	return attach.InformersOf(c.engine.Journal().Snapshot(), []state.StoreStats{engine.StoreStats(*s)})[0]
}

// Edition is the store's version, which each event and bookmark moves.
func (c *loopCache) Edition() uint64 {
	s := c.store()
	if s == nil {
		return 0
	}
	n, _ := strconv.ParseUint(s.Now(), 10, 64)
	return n
}

func (c *loopCache) Close() {}

// chosen are the objects of a query in their order.
func (c *loopCache) chosen(q port.CacheQuery) (*tap.Store, []metav1.Object, error) {
	s := c.store()
	if s == nil {
		return nil, nil, fmt.Errorf("no loop has an informer of %s any more", c.typ)
	}
	version := s.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects != nil && c.query == q && c.version == version {
		return s, c.objects, nil
	}
	keep, err := keeper(q)
	if err != nil {
		return nil, nil, err
	}
	objects := s.All()
	if keep != nil {
		objects = slices.DeleteFunc(objects, func(o metav1.Object) bool { return !keep(o) })
	}
	slices.SortFunc(objects, orderOf(q))
	if objects == nil {
		objects = []metav1.Object{}
	}
	c.query, c.version, c.objects = q, version, objects
	return s, objects, nil
}

// keeper is what a query chooses by; nil for everything.
func keeper(q port.CacheQuery) (func(metav1.Object) bool, error) {
	if q.Labels != "" {
		selector, err := labels.Parse(q.Labels)
		if err != nil {
			return nil, fmt.Errorf("read the label selector %q: %w", q.Labels, err)
		}
		return func(o metav1.Object) bool { return selector.Matches(labels.Set(o.GetLabels())) }, nil
	}
	if q.Text == "" {
		return nil, nil
	}
	var hit func(string) bool
	switch {
	case q.Regexp:
		expr, err := regexp.Compile(q.Text)
		if err != nil {
			return nil, fmt.Errorf("read the regular expression %q: %w", q.Text, err)
		}
		hit = expr.MatchString
	case q.Fuzzy:
		hit = func(s string) bool { return state.Fuzzy(q.Text, s) }
	default:
		text := strings.ToLower(q.Text)
		hit = func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	}
	return func(o metav1.Object) bool { return hit(objectKey(o)) != q.Invert }, nil
}

func objectKey(o metav1.Object) string {
	return state.Ref{Namespace: o.GetNamespace(), Name: o.GetName()}.Key()
}

func orderOf(q port.CacheQuery) func(a, b metav1.Object) int {
	byName := func(a, b metav1.Object) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	}
	version := func(o metav1.Object) uint64 { n, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64); return n }
	order := byName
	switch q.Sort {
	case "name":
		order = func(a, b metav1.Object) int { return cmp.Or(strings.Compare(a.GetName(), b.GetName()), byName(a, b)) }
	case "age":
		order = func(a, b metav1.Object) int {
			return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), byName(a, b))
		}
	case "changed": // what changed last has the highest version
		order = func(a, b metav1.Object) int { return cmp.Or(cmp.Compare(version(b), version(a)), byName(a, b)) }
	case "resourceVersion":
		order = func(a, b metav1.Object) int { return cmp.Or(cmp.Compare(version(a), version(b)), byName(a, b)) }
	}
	if q.Descending {
		return func(a, b metav1.Object) int { return order(b, a) }
	}
	return order
}

func (c *loopCache) Window(q port.CacheQuery, offset, n int) (port.CacheWindow, error) {
	s, objects, err := c.chosen(q)
	if err != nil {
		return port.CacheWindow{}, err
	}
	w := port.CacheWindow{Offset: offset, Total: len(objects), Built: true, Seen: s.Objects, Objects: s.Objects, Synced: s.Synced}
	snapshot := c.engine.Journal().Snapshot()
	for _, o := range objects[min(offset, len(objects)):min(offset+n, len(objects))] {
		w.Rows = append(w.Rows, rowOf(s, o, snapshot))
	}
	return w, nil
}

// rowOf is an object in a line. When it changed, the journal knows.
func rowOf(s *tap.Store, o metav1.Object, snapshot *state.Snapshot) port.CacheRow {
	ref := s.Kind
	ref.Namespace, ref.Name, ref.UID = o.GetNamespace(), o.GetName(), string(o.GetUID())
	r := port.CacheRow{
		Ref: ref, ResourceVersion: o.GetResourceVersion(), Labels: o.GetLabels(),
		Created: o.GetCreationTimestamp().UTC(), Finalizers: len(o.GetFinalizers()),
	}
	if at := o.GetDeletionTimestamp(); at != nil {
		r.Deleting = at.UTC()
	}
	if known := snapshot.Object(ref); known != nil {
		r.Owner = known.Owner
		if known.Change != state.ChangeListed {
			r.Changed = known.Changed
		}
	}
	if !s.Metadata {
		r.Status = owners.StatusOf(tap.Content(o, scheme.Scheme))
	}
	return r
}

func (c *loopCache) Find(q port.CacheQuery, namespace, name string) (int, bool) {
	_, objects, err := c.chosen(q)
	if err != nil {
		return 0, false
	}
	at := slices.IndexFunc(objects, func(o metav1.Object) bool { return o.GetName() == name && o.GetNamespace() == namespace })
	return max(at, 0), at >= 0
}

func (c *loopCache) Object(namespace, name string) (port.CacheObject, bool) {
	s := c.store()
	if s == nil {
		return port.CacheObject{}, false
	}
	held := s.Get(namespace, name)
	if held == nil {
		return port.CacheObject{}, false
	}
	return port.CacheObject{
		CacheRow: rowOf(s, held, c.engine.Journal().Snapshot()), Content: contentOf(s, held),
		Fields: fieldOwners(informers.FieldOwners(held.GetManagedFields())),
	}, true
}

// Fields asks the server: the loops' caches are filled without managedFields.
func (c *loopCache) Fields(ctx context.Context, namespace, name string) ([]port.FieldOwner, error) {
	client, err := metadata.NewForConfig(c.clients.config)
	if err != nil {
		return nil, err
	}
	o, err := client.Resource(gvrOf(c.typ)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		ref := state.Ref{Group: c.typ.Group, Resource: c.typ.Resource, Namespace: namespace, Name: name}
		return nil, explain.Error(err, "get "+ref.String())
	}
	return fieldOwners(informers.FieldOwners(o.GetManagedFields())), nil
}

// contentOf is what may be shown of an object of a store.
func contentOf(s *tap.Store, held metav1.Object) map[string]any {
	ref := s.Kind
	ref.Namespace, ref.Name = held.GetNamespace(), held.GetName()
	return redact.Redact(ref, tap.Content(held, scheme.Scheme))
}

// Compare asks the server for the object too, and gives the store half a second
// to get the same.
func (c *loopCache) Compare(ctx context.Context, namespace, name string) (port.CacheComparison, error) {
	s := c.store()
	if s == nil {
		return port.CacheComparison{}, errors.New("the informer has ended")
	}
	ref := s.Kind
	ref.Namespace, ref.Name = namespace, name
	client, err := dynamic.NewForConfig(c.clients.config)
	if err != nil {
		return port.CacheComparison{}, err
	}
	view := c.host.CompareHeld(ctx, s, attach.CacheQuery{Namespace: namespace, Name: name})
	out := port.CacheComparison{ServerView: *view}
	var before, after map[string]any
	if held := s.Get(namespace, name); held != nil && !s.Metadata {
		before, out.Held = tap.Content(held, scheme.Scheme), true
	}
	live, err := client.Resource(gvrOf(c.typ)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		after, out.Live = live.Object, true
	case !apierrors.IsNotFound(err):
		return port.CacheComparison{}, explain.Error(err, "get "+ref.String())
	}
	if s.Metadata {
		out.Reason = cmp.Or(out.Reason, "The loops hold the metadata of this type only; versions were compared.")
		return out, nil
	}
	for _, o := range []map[string]any{before, after} {
		if meta, ok := o["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
		}
	}
	out.Changes = redact.Diff(ref, before, after, redact.DiffOptions{Noise: true})
	return out, nil
}
