package informers

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Handle is one user's reference to an informer. A closed Handle can still be read, but
// the informer may have stopped.
type Handle struct {
	*informer
	set   *Set
	scope scope
	once  sync.Once
}

// Close releases the informer. It may be called again.
func (h *Handle) Close() { h.once.Do(func() { h.set.leave(h.informer, h.scope) }) }

// Type is the watched type.
func (h *Handle) Type() owners.Type { return h.typ }

// Stats returns the informer's statistics.
func (h *Handle) Stats() state.StoreStats { return h.stats() }

// Refused is the error with which the server persistently rejects listing or watching
// the type; nil if it does not. The informer retries anyway.
func (h *Handle) Refused() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.status != state.InformerFailed || h.failure == nil || !refused(h.failure) {
		return nil
	}
	return h.failure
}

// Edition changes whenever a Window may have changed.
func (h *Handle) Edition() uint64 { return h.index.edition.Load() }

// Row is one object of a Window.
type Row struct {
	state.Ref
	ResourceVersion string
	Labels          map[string]string
	Created         time.Time
	// Changed is the time of its last event; zero if there was none since the list.
	Changed time.Time
	// Deleting is its deletion timestamp: the request's time plus the grace period.
	Deleting   time.Time
	Finalizers int
	// Owner is the controlling owner; its Resource is derived from its kind.
	Owner *state.Ref
	// Status is nil if only metadata is stored, and for kinds without status.
	Status *document.ObjectStatus
}

// Window is a part of a view.
type Window struct {
	Rows []Row
	// Offset is the position of the first row in the view, Total the number of rows in
	// it.
	Offset, Total int
	// Built: every object has been processed. Until then, Seen of Objects have been,
	// and more rows may follow.
	Built         bool
	Seen, Objects int
	// Synced: the first list is complete. Until then, Expected is the number of
	// objects, if the server reported it; see state.StoreStats.
	Synced   bool
	Expected int
}

// Window returns at most n rows of a query from an offset. An error means an invalid
// query: a regular expression or selector.
func (h *Handle) Window(q Query, offset, n int) (Window, error) {
	items, total, seen, of, err := h.index.page(q, offset, n)
	if err != nil {
		return Window{}, err
	}
	w := Window{Offset: max(0, offset), Total: total, Built: seen == of, Seen: seen, Objects: of, Rows: make([]Row, len(items))}
	for i, it := range items {
		w.Rows[i] = h.row(it)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Synced, w.Expected = h.synced, h.expected
	return w, nil
}

// Find returns the position of an object in the view of a query.
func (h *Handle) Find(q Query, namespace, name string) (int, bool) {
	return h.index.place(q, namespace, name)
}

func (in *informer) row(it *item) Row {
	o := it.object
	r := Row{
		Ref: in.ref(o), ResourceVersion: o.GetResourceVersion(), Labels: maps.Clone(o.GetLabels()), Created: o.GetCreationTimestamp().UTC(),
		Finalizers: len(o.GetFinalizers()), Owner: ownerOf(o), Status: in.statusOf(it),
	}
	if it.changed != 0 {
		r.Changed = time.Unix(0, it.changed)
	}
	if at := o.GetDeletionTimestamp(); at != nil {
		r.Deleting = at.UTC()
	}
	return r
}

// noStatus marks an item whose kind has none.
var noStatus = &document.ObjectStatus{}

func (in *informer) statusOf(it *item) *document.ObjectStatus {
	if in.contents != Whole || isSecret(in.typ) {
		return nil
	}
	s := it.status.Load()
	if s == nil {
		if s = owners.StatusOf(content(it.object, in.groupVersionKind())); s == nil {
			s = noStatus
		}
		it.status.Store(s)
	}
	if s == noStatus {
		return nil
	}
	status := *s
	return &status
}

func (in *informer) groupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: in.typ.Group, Version: in.typ.Version, Kind: in.typ.Kind}
}

// Object is one object in the informer's store.
type Object struct {
	Row
	// Content is the stored content, redacted and without managedFields.
	Content map[string]any
	// Owners are the managers of its fields, by path.
	Owners []FieldOwner
}

// Object returns one object; false if it is not stored.
func (h *Handle) Object(namespace, name string) (Object, bool) {
	it := h.index.get(namespace, name)
	if it == nil {
		return Object{}, false
	}
	return Object{
		Row: h.row(it), Content: redact.Redact(h.ref(it.object), content(it.object, h.groupVersionKind())),
		Owners: FieldOwners(it.object.GetManagedFields()),
	}, true
}

// Comparison is an object of the store next to the server's.
type Comparison struct {
	state.ServerView
	// Held and Live are the compared objects, redacted; nil if one side does not have
	// it. For metadata informers both are metadata.
	Held, Live map[string]any
	// Changes are the differences from Held to Live.
	Changes []state.FieldChange
}

// Compare reads an object from the server and gives the store half a second to receive
// the same version. It is not an error if the object does not exist.
func (h *Handle) Compare(ctx context.Context, namespace, name string) (Comparison, error) {
	ref := h.kind
	ref.Namespace, ref.Name = namespace, name
	c := Comparison{ServerView: state.ServerView{Asked: h.options.Now()}}
	live, err := h.source.get(ctx, namespace, name)
	if err != nil && !apierrors.IsNotFound(err) {
		c.Freshness, c.Reason = state.Unasked, err.Error()
		return c, fmt.Errorf("get %s: %w", ref, err)
	}
	h.contact.heard()
	it := h.reach(ctx, namespace, name, live, err)
	var before, after map[string]any
	if it != nil {
		before = content(it.object, h.groupVersionKind())
		c.Held = redact.Redact(ref, before)
	}
	if err == nil {
		if u, ok := live.(*unstructured.Unstructured); ok && isSecret(h.typ) {
			conceal(u)
		}
		after = content(live, h.groupVersionKind())
		c.Live = redact.Redact(ref, after)
		if m, err := meta.Accessor(live); err == nil {
			c.ResourceVersion = m.GetResourceVersion()
		}
	}
	c.Freshness = freshness(it, live, err)
	if c.Held != nil || c.Live != nil {
		c.Changes = redact.Diff(ref, withoutManagers(before), withoutManagers(after), redact.DiffOptions{Noise: true})
	}
	return c, nil
}

// catchUp is how long a store may take to receive what a GET returned.
const catchUp = 500 * time.Millisecond

// reach returns the stored object after giving the store time to catch up with the
// server, because its event may be on the way.
func (h *Handle) reach(ctx context.Context, namespace, name string, live runtime.Object, err error) *item {
	ctx, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	for {
		it := h.index.get(namespace, name)
		if freshness(it, live, err) == state.Current {
			return it
		}
		select {
		case <-ctx.Done():
			return it
		case <-time.After(catchUp / 25):
		}
	}
}

func freshness(it *item, live runtime.Object, err error) state.Freshness {
	switch {
	case err != nil && it == nil:
		return state.Current
	case err != nil:
		return state.Gone
	case it == nil:
		return state.Missing
	}
	m, err := meta.Accessor(live)
	if err != nil {
		return state.Unasked
	}
	if m.GetResourceVersion() == it.object.GetResourceVersion() {
		return state.Current
	}
	// The store may also be ahead, because the response is as old as the read.
	if now := newItem(m, time.Time{}); now.version != 0 && it.version > now.version {
		return state.Current
	}
	return state.Behind
}

// withoutManagers removes managedFields before a comparison; the object itself is not
// modified.
func withoutManagers(o map[string]any) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		return o
	}
	m = maps.Clone(m)
	delete(m, "managedFields")
	o = maps.Clone(o)
	o["metadata"] = m
	return o
}
