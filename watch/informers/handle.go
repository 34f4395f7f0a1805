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

// Handle is one user's hold on an informer. Once it is closed it still reads,
// but what it reads may have ended.
type Handle struct {
	*informer
	set   *Set
	scope scope
	once  sync.Once
}

// Close lets go of the informer. It may be called again.
func (h *Handle) Close() { h.once.Do(func() { h.set.leave(h.informer, h.scope) }) }

// Type is what is watched.
func (h *Handle) Type() owners.Type { return h.typ }

// Stats tells of the informer.
func (h *Handle) Stats() state.StoreStats { return h.stats() }

// Refused is the answer by which the server has refused to list or watch the type, as
// far as one can tell for good; nil where it has not. It is tried again all the same.
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
	// Changed is when an event last told of it; zero where none has since it
	// was listed.
	Changed time.Time
	// Deleting is when its deletion was asked for, plus its grace period.
	Deleting   time.Time
	Finalizers int
	// Owner is the managing owner; its Resource is guessed from its kind.
	Owner *state.Ref
	// Status is nil where only metadata is held, and for kinds without one.
	Status *document.ObjectStatus
}

// Window is a part of a view.
type Window struct {
	Rows []Row
	// Offset is the place of the first row in the view, Total the number of
	// rows in it.
	Offset, Total int
	// Built: every object has been looked at. Until then Seen have, Objects is
	// how many there are, and rows will come.
	Built         bool
	Seen, Objects int
	// Synced: the first list is complete. Until then Expected is how many
	// objects there will be, where the server told; see state.StoreStats.
	Synced   bool
	Expected int
}

// Window gives at most n rows of what a query chooses, from an offset on. The
// error is of the query: a regular expression or selector that cannot be read.
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

// Find gives the place of an object in the view of a query.
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

// Object is one object as the informer's store holds it.
type Object struct {
	Row
	// Content is all that is held, redacted and without managedFields.
	Content map[string]any
	// Owners are the managers of its fields, by path.
	Owners []FieldOwner
}

// Object gives one object; false where it is not held.
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

// Comparison is an object of the store beside the server's.
type Comparison struct {
	state.ServerView
	// Held and Live are what was compared, redacted; nil where one side does not
	// have it. Of metadata informers both are metadata.
	Held, Live map[string]any
	// Changes are what leads from Held to Live.
	Changes []state.FieldChange
}

// Compare asks the server for an object that is in the store, or was, and gives
// the store half a second to get the same. An answer that it is not there is no
// error.
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

// catchUp is how long a store may take to get what a GET has just told.
const catchUp = 500 * time.Millisecond

// reach gives what the store holds of an object, after it had time to get where
// the server is: its event may be on the way.
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
	// The store may also be ahead: the answer is as old as the read.
	if now := newItem(m, time.Time{}); now.version != 0 && it.version > now.version {
		return state.Current
	}
	return state.Behind
}

// withoutManagers leaves the managedFields out of what is compared; the object
// itself is not changed.
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
