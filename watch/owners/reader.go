package owners

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options control a Reader. The zero value is suitable for interactive use.
type Options struct {
	// Concurrency is the number of requests in flight; 12 if zero. It is the only
	// limit: the config's rate limit does not apply.
	Concurrency int
	// MaxRequests stops reading and leaves gaps; zero means no limit.
	MaxRequests int
	// PageSize is the number of objects in a response; 500 if zero.
	PageSize int64
	// Cached reads lists from the API server's watch cache regardless of its age
	// (resourceVersion 0): cheapest, and possibly slightly stale.
	Cached bool
	// Groups are the API groups to read, the core group as "" or "core"; nil means all.
	Groups []string
	// Progress is called during a scan. It may be nil.
	Progress func(string)
}

const (
	defaultConcurrency = 12
	defaultPageSize    = 500
)

// Reader reads ownership from one cluster. Only the watches of Follow outlive a call,
// until their context ends. It is safe for concurrent use.
type Reader struct {
	opts      Options
	meter     *meter
	discovery discovery.CachedDiscoveryInterface
	metadata  metadata.Interface
	dynamic   dynamic.Interface

	kinds func(context.Context) (*Kinds, error)

	mu      sync.Mutex
	gaps    map[document.ReadGap]bool
	types   map[string]bool
	objects int
	// read caches the statuses read so far, by UID, for repeated display.
	read map[string]versioned
}

type versioned struct {
	version string
	status  *document.ObjectStatus
}

// NewReader returns a Reader for a config of package connect.
func NewReader(config *rest.Config, opts Options) (*Reader, error) {
	if opts.Concurrency <= 0 {
		opts.Concurrency = defaultConcurrency
	}
	if opts.PageSize <= 0 {
		opts.PageSize = defaultPageSize
	}
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	m := &meter{limit: int64(opts.MaxRequests)}
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return m.wrap(rt) })
	r := &Reader{opts: opts, meter: m, gaps: map[document.ReadGap]bool{}, types: map[string]bool{}, read: map[string]versioned{}}
	plain, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a discovery client for %s: %w", config.Host, err)
	}
	r.discovery = memory.NewMemCacheClient(plain)
	if r.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("create a metadata client for %s: %w", config.Host, err)
	}
	if r.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	var once sync.Mutex
	var known *Kinds
	r.kinds = func(ctx context.Context) (*Kinds, error) {
		once.Lock()
		defer once.Unlock()
		if known != nil {
			return known, nil
		}
		opts.Progress("discovering the API types")
		groups, resources, err := r.discovery.ServerGroupsAndResources()
		failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
		if err != nil && !partial {
			return nil, fmt.Errorf("discover the API types of %s: %w", config.Host, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for gv, err := range failed {
			r.gap(document.ReadGap{Type: gv.String(), Reason: "unavailable", Message: "not discovered: " + err.Error()})
		}
		known = NewKinds(groups, resources, failed)
		return known, nil
	}
	return r, nil
}

// Discovery is the reader's discovery client, whose results it shares.
func (r *Reader) Discovery() discovery.CachedDiscoveryInterface { return r.discovery }

// Kinds discovers the served types, once. Groups that cannot be discovered are gaps; an
// error means that the server is unreachable.
func (r *Reader) Kinds(ctx context.Context) (*Kinds, error) { return r.kinds(ctx) }

// Gaps are what could not be read so far, in order.
func (r *Reader) Gaps() []document.ReadGap {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]document.ReadGap, 0, len(r.gaps))
	for g := range r.gaps {
		list = append(list, g)
	}
	slices.SortFunc(list, compareGaps)
	return list
}

// Cost is the cost so far. The caller sets the duration.
func (r *Reader) Cost() document.ReadCost {
	r.mu.Lock()
	defer r.mu.Unlock()
	return document.ReadCost{
		Requests: r.meter.requests.Load(), Bytes: r.meter.bytes.Load(),
		Types: len(r.types), Objects: r.objects,
	}
}

func (r *Reader) gap(g document.ReadGap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps[g] = true
}

// gapOf classifies a failure to read.
func gapOf(t Type, namespace, name string, err error) document.ReadGap {
	g := document.ReadGap{Type: t.String(), Namespace: namespace, Name: name, Reason: "failed", Message: err.Error()}
	switch {
	case errors.Is(err, errBudget):
		g.Reason, g.Message = "budget", errBudget.Error()
	case apierrors.IsForbidden(err):
		g.Reason = "forbidden"
	case apierrors.IsServiceUnavailable(err), apierrors.IsNotFound(err), apierrors.IsTimeout(err), apierrors.IsInternalError(err):
		g.Reason = "unavailable"
	}
	return g
}

// Get reads the metadata of one object. The error is the API server's.
func (r *Reader) Get(ctx context.Context, t Type, namespace, name string) (*Object, error) {
	m, err := r.metadata.Resource(t.gvr()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return objectOf(t, m), nil
}

// objectOf extracts what the graph needs.
func objectOf(t Type, m *metav1.PartialObjectMetadata) *Object {
	o := &Object{Labels: m.Labels, version: m.ResourceVersion, OwnedObject: document.OwnedObject{
		Ref: state.Ref{
			Group: t.Group, Version: t.Version, Resource: t.Resource,
			Namespace: m.Namespace, Name: m.Name, UID: string(m.UID),
		},
		Kind: t.Kind, Created: m.CreationTimestamp.UTC(), Finalizers: m.Finalizers,
	}}
	if m.DeletionTimestamp != nil {
		o.Deleting = m.DeletionTimestamp.UTC()
	}
	for _, ref := range m.OwnerReferences {
		o.Owners = append(o.Owners, document.OwnerRef{
			APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: string(ref.UID),
			Controller: ref.Controller != nil && *ref.Controller, BlockOwnerDeletion: ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion,
		})
	}
	if len(m.Finalizers) > 0 {
		o.setBy = finalizerManagers(m.ManagedFields)
	}
	return o
}

// CompleteOwners looks up the owners of these objects that are still unknown: those
// outside the graph's lists, and those of types that could not be listed.
func (r *Reader) CompleteOwners(ctx context.Context, g *Graph, items []*Object) error {
	list := g.pending(items)
	found, errs := make([]*Object, len(list)), make([]error, len(list))
	r.parallel(len(list), func(i int) {
		found[i], errs[i] = r.Get(ctx, list[i].kind, list[i].namespace, list[i].name)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, p := range list {
		r.learn(g, p, found[i], errs[i])
	}
	return nil
}

// learn adds the result of a Get to the graph.
func (r *Reader) learn(g *Graph, p pending, o *Object, err error) {
	switch {
	case err == nil:
		g.Add(o)
	case apierrors.IsNotFound(err):
		g.MarkAbsent(p.kind, p.namespace, p.name)
	default:
		gap := gapOf(p.kind, p.namespace, p.name, err)
		g.MarkUnread(p.kind, p.namespace, p.name, gap.Message)
		r.gap(gap)
	}
}

// parallel calls do for 0 to n-1, at most Concurrency at a time, and returns
// when all have returned.
func (r *Reader) parallel(n int, do func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, r.opts.Concurrency) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// Above reads the owners of these objects, up to objects without owners, into a new
// graph.
func (r *Reader) Above(ctx context.Context, objects []*Object) (*Graph, error) {
	kinds, err := r.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	above := NewGraph(kinds)
	for _, o := range objects {
		above.Add(o)
	}
	for _, o := range objects {
		if err := r.ClimbFrom(ctx, above, o); err != nil {
			return nil, err
		}
	}
	return above, nil
}

// ScanAround scans the objects that the deletion of the targets can affect, and looks
// up their other owners. It returns the targets as the graph stores them.
func (r *Reader) ScanAround(ctx context.Context, s Scope, targets []*Object) (*Graph, []*Object, error) {
	graph, err := r.Scan(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	found := make([]*Object, len(targets))
	uids := make([]string, len(targets))
	for i, t := range targets {
		graph.Add(t)
		found[i], uids[i] = graph.Object(t.UID), t.UID
		if group, resource := t.typeOf(); t.isCRD() {
			if _, served := graph.kinds.Resource(group, resource); !served {
				r.gap(document.ReadGap{Type: resource + "." + group, Reason: "unavailable", Message: "not served: objects of this type cannot be read"})
			}
		}
	}
	return graph, found, r.CompleteOwners(ctx, graph, append(graph.Descendants(uids...), found...))
}

// ClimbFrom reads the owners of an object, up to objects without owners: one request
// each, no list.
func (r *Reader) ClimbFrom(ctx context.Context, g *Graph, o *Object) error {
	level := []*Object{o}
	seen := map[string]bool{o.UID: true}
	for len(level) > 0 {
		if err := r.CompleteOwners(ctx, g, level); err != nil {
			return err
		}
		var next []*Object
		for _, item := range level {
			for _, ref := range item.Owners {
				owner := g.Object(ref.UID)
				if owner != nil && !seen[owner.UID] {
					seen[owner.UID] = true
					next = append(next, owner)
				}
			}
		}
		level = next
	}
	return nil
}

// Metered counts the requests of another client in this reader's cost and limit. The
// config must be a copy owned by the caller.
func (r *Reader) Metered(config *rest.Config) {
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return r.meter.wrap(rt) })
}
