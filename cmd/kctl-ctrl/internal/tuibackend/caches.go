package tuibackend

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/served"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// screenCaches are the caches that the screen looks into: the loops' own where
// they have one of a type, and otherwise informers that live with the screen.
type screenCaches struct {
	config    *rest.Config
	namespace string
	types     *served.Types
	// loops has the informers of the loops.
	loops  *engine.Host
	engine *engine.Engine
	set    *informers.Set
}

var (
	_ port.Caches     = (*screenCaches)(nil)
	_ port.Connection = (*screenCaches)(nil)
)

// newScreenCaches makes the screen's informers on a config that only reads.
// close must be called.
func newScreenCaches(e *engine.Engine, config *rest.Config, namespace string) (*screenCaches, error) {
	c := &screenCaches{config: config, namespace: namespace, types: &served.Types{Config: config}, loops: engine.NewHost(e, "tui"), engine: e}
	var err error
	c.set, err = informers.New(config, informers.Options{Recorder: e.Journal(), Silent: func(ref state.Ref) bool {
		return engine.BestStore(c.engine.Tap().Stores(), schema.GroupResource{Group: ref.Group, Resource: ref.Resource}) != nil
	}})
	if err != nil {
		c.loops.Close()
		return nil, err
	}
	return c, nil
}

func (c *screenCaches) close() {
	c.set.Close()
	c.loops.Close()
}

// Lost tells since when the API server does not answer.
func (c *screenCaches) Lost() (since time.Time, reason string) {
	contact := c.set.Contact()
	return contact.Lost, contact.Reason
}

// Failing names the types whose watches the API server ends at once, with the reason.
func (c *screenCaches) Failing() []string { return c.engine.Watches().Failing() }

// Open looks into the loops' cache of a type, or opens one.
func (c *screenCaches) Open(ctx context.Context, typ string) (port.Cache, error) {
	t, err := c.types.Find(ctx, typ)
	if err != nil {
		return nil, err
	}
	if engine.BestStore(c.loops.Stores(), schema.GroupResource{Group: t.Group, Resource: t.Resource}) != nil {
		return &steadyCache{loops: &loopCache{host: c.loops, engine: c.engine, typ: t, clients: c}}, nil
	}
	return c.openOwn(t)
}

// openOwn opens an informer of the screen's own.
func (c *screenCaches) openOwn(t owners.Type) (port.Cache, error) {
	contents := informers.Whole
	if t.Group == "" && t.Resource == "secrets" {
		contents = informers.Metadata
	}
	handle, err := c.set.Open(t, c.namespace, contents)
	if err != nil {
		return nil, err
	}
	return screenCache{handle}, nil
}

func (c *screenCaches) Stores() []state.StoreStats {
	loops, _ := c.loops.Informers(context.Background())
	return append(loops, c.set.Stats()...)
}

func (c *screenCaches) Types(ctx context.Context) ([]string, error) { return c.types.All(ctx) }

// Behind compares a cache's version with the server's.
func (c *screenCaches) Behind(ctx context.Context, typ string) (state.ServerView, error) {
	cache, err := c.Open(ctx, typ)
	if err != nil {
		return state.ServerView{}, err
	}
	defer cache.Close()
	t, err := c.types.Find(ctx, typ)
	if err != nil {
		return state.ServerView{}, err
	}
	namespace := ""
	if t.Namespaced {
		namespace = c.namespace
	}
	return freshness(ctx, c.config, gvrOf(t), namespace, func() string { return cache.Stats().ResourceVersion }, informers.BookmarkPeriod)
}

// freshness asks the server for the version of a type and waits until a cache has
// reached it: a little at first, which tells most, and at most until the next
// bookmark is due.
func freshness(ctx context.Context, config *rest.Config, of schema.GroupVersionResource, namespace string, now func() string, within time.Duration) (state.ServerView, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return state.ServerView{}, err
	}
	asked := time.Now().UTC()
	list, err := client.Resource(of).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return state.ServerView{}, explain.Error(err, "list "+of.Resource)
	}
	v := state.ServerView{ResourceVersion: list.ResourceVersion, Asked: asked, Freshness: state.Current}
	if !informers.Until(ctx, within, func() bool { return informers.AtLeast(now(), list.ResourceVersion) }) {
		v.Freshness, v.Reason = state.Behind, fmt.Sprintf("it did not get there in %s, in which a bookmark was due", state.Short(within))
	}
	return v, nil
}

func gvrOf(t owners.Type) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource}
}

// Object looks for a whole object in the loops' caches.
func (c *screenCaches) Object(ref state.Ref) map[string]any {
	store := engine.BestStore(c.engine.Tap().Stores(), schema.GroupResource{Group: ref.Group, Resource: ref.Resource})
	if store == nil || store.Metadata {
		return nil
	}
	held := store.Get(ref.Namespace, ref.Name)
	if held == nil {
		return nil
	}
	return contentOf(store, held)
}

// Live asks the server for an object.
func (c *screenCaches) Live(ctx context.Context, ref state.Ref) (map[string]any, error) {
	t, err := c.types.Find(ctx, ref.Type())
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	o, err := client.Resource(gvrOf(t)).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, explain.Error(err, "get "+ref.String())
	}
	return redact.Redact(ref, o.Object), nil
}

// screenCache is an informer of the screen's own.
type screenCache struct{ *informers.Handle }

func (c screenCache) Close() { c.Handle.Close() }

func (c screenCache) Window(q port.CacheQuery, offset, n int) (port.CacheWindow, error) {
	w, err := c.Handle.Window(informerQuery(q), offset, n)
	if err != nil {
		return port.CacheWindow{}, err
	}
	out := port.CacheWindow{
		Offset: w.Offset, Total: w.Total, Built: w.Built, Seen: w.Seen, Objects: w.Objects,
		Synced: w.Synced, Expected: w.Expected, Rows: make([]port.CacheRow, len(w.Rows)),
	}
	for i, r := range w.Rows {
		out.Rows[i] = port.CacheRow(r)
	}
	return out, nil
}

func informerQuery(q port.CacheQuery) informers.Query {
	out := informers.Query{Text: q.Text, Invert: q.Invert, Labels: q.Labels, Sort: informers.SortKey(q.Sort), Descending: q.Descending}
	switch {
	case q.Regexp:
		out.Match = informers.MatchRegexp
	case q.Fuzzy:
		out.Match = informers.MatchFuzzy
	}
	return out
}

func (c screenCache) Find(q port.CacheQuery, namespace, name string) (int, bool) {
	return c.Handle.Find(informerQuery(q), namespace, name)
}

func (c screenCache) Object(namespace, name string) (port.CacheObject, bool) {
	o, ok := c.Handle.Object(namespace, name)
	if !ok {
		return port.CacheObject{}, false
	}
	return port.CacheObject{CacheRow: port.CacheRow(o.Row), Content: o.Content, Fields: fieldOwners(o.Owners)}, true
}

func fieldOwners(of []informers.FieldOwner) []port.FieldOwner {
	out := make([]port.FieldOwner, len(of))
	for i, f := range of {
		out[i] = port.FieldOwner{Path: f.Path, Manager: f.Manager, Operation: f.Operation, Subresource: f.Subresource, At: f.Time}
	}
	return out
}

func (c screenCache) Compare(ctx context.Context, namespace, name string) (port.CacheComparison, error) {
	v, err := c.Handle.Compare(ctx, namespace, name)
	if err != nil {
		return port.CacheComparison{}, err
	}
	return port.CacheComparison{ServerView: v.ServerView, Held: v.Held != nil, Live: v.Live != nil, Changes: v.Changes}, nil
}

// copyText puts text on the clipboard: by a program where there is one, else by
// asking the terminal (OSC 52), which may be on another machine.
func copyText(terminal *os.File, native func(string) error) func(string) (string, error) {
	return func(text string) (string, error) {
		if native != nil && !slices.ContainsFunc([]string{"SSH_CONNECTION", "SSH_TTY"}, func(name string) bool { return os.Getenv(name) != "" }) {
			if err := native(text); err == nil {
				return "clipboard", nil
			}
		}
		return "by the terminal", osc52(terminal, text)
	}
}
