package owners

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// fewToGet is the number of objects of a type in a namespace up to which they are read
// one by one; more are read by a list, if at least a quarter of it is needed.
const fewToGet = 8

// Status reads the status of the objects shown in the trees, at most limit of them in
// display order, and returns how many the limit left out. A negative limit means no
// limit. Objects that were deleted in the meantime and kinds without a status get none;
// objects that have not changed since this reader read them are not read again. What
// cannot be read is a gap.
func (r *Reader) Status(ctx context.Context, g *Graph, trees []*document.OwnerNode, limit int) (left int, err error) {
	wanted := map[scope][]string{}
	nodes := map[string][]*document.OwnerNode{}
	for _, root := range trees {
		root.Walk(func(n *document.OwnerNode) {
			o := n.Object
			if n.Absent || statusless[o.Type()] || o.UID == "" {
				return
			}
			if nodes[o.UID] == nil {
				if limit >= 0 && len(nodes) >= limit {
					left++
					return
				}
				if !r.current(g.Object(o.UID)) {
					s := scope{o.Group, o.Resource, o.Namespace}
					wanted[s] = append(wanted[s], o.Name)
				}
			}
			nodes[o.UID] = append(nodes[o.UID], n)
		})
	}
	if err := r.readStatuses(ctx, g, wanted); err != nil {
		return left, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, list := range nodes {
		for _, n := range list {
			n.Status = r.read[uid].status
		}
	}
	return left, nil
}

// current reports whether the status was read at the object's current resourceVersion.
func (r *Reader) current(o *Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o == nil {
		return false
	}
	known, read := r.read[o.UID]
	return read && known.version == o.version
}

// statusJob is one request, or one list.
type statusJob struct {
	Type
	namespace string
	name      string // empty for a list
}

func (r *Reader) readStatuses(ctx context.Context, g *Graph, wanted map[scope][]string) error {
	sizes := map[scope]int{}
	for _, o := range g.byUID {
		sizes[scope{o.Group, o.Resource, o.Namespace}]++
	}
	var jobs []statusJob
	for s, names := range wanted {
		t, served := g.kinds.Resource(s.group, s.resource)
		if !served {
			continue
		}
		if len(names) > fewToGet && len(names)*4 >= sizes[s] {
			jobs = append(jobs, statusJob{t, s.namespace, ""})
			continue
		}
		for _, name := range names {
			jobs = append(jobs, statusJob{t, s.namespace, name})
		}
	}
	slices.SortFunc(jobs, func(a, b statusJob) int {
		return cmp.Or(compareTypes(a.Type, b.Type), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	found := make([]map[string]versioned, len(jobs))
	var done atomic.Int64
	r.parallel(len(jobs), func(i int) {
		if ctx.Err() == nil {
			found[i] = r.statusOf(ctx, jobs[i])
			r.opts.Progress(fmt.Sprintf("reading status: %d of %d", done.Add(1), len(jobs)))
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range found {
		maps.Copy(r.read, f)
	}
	return nil
}

func (r *Reader) statusOf(ctx context.Context, j statusJob) map[string]versioned {
	client := r.dynamic.Resource(j.gvr()).Namespace(j.namespace)
	found := map[string]versioned{}
	keep := func(u *unstructured.Unstructured) {
		found[string(u.GetUID())] = versioned{u.GetResourceVersion(), StatusOf(u.Object)}
	}
	fail := func(err error) {
		if ctx.Err() != nil || j.name != "" && apierrors.IsNotFound(err) {
			return
		}
		gap := gapOf(j.Type, j.namespace, "", err)
		gap.Reason, gap.Message = "status "+gap.Reason, ""
		r.gap(gap)
	}
	if j.name != "" {
		u, err := client.Get(ctx, j.name, metav1.GetOptions{})
		if err != nil {
			fail(err)
			return found
		}
		keep(u)
		return found
	}
	opts := metav1.ListOptions{Limit: r.opts.PageSize}
	for {
		page, err := client.List(ctx, opts)
		if err != nil {
			fail(err)
			return found
		}
		for i := range page.Items {
			keep(&page.Items[i])
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return found
		}
	}
}
