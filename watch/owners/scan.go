package owners

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// Scope is where dependents can be.
type Scope struct {
	// Namespaces are read one by one. If Everywhere is set, they are the fallback for
	// types that the user cannot list cluster-wide.
	Namespaces []string
	// Everywhere reads all namespaces and the cluster-scoped types.
	Everywhere bool
}

// ScopeOf is where the dependents and the content of these objects can be, by the rules
// of ownership.
func ScopeOf(roots ...*Object) Scope {
	var s Scope
	for _, r := range roots {
		namespace := r.Namespace
		if namespace == "" {
			s.Everywhere = true
		}
		if r.isNamespace() {
			namespace = r.Name // fallback for users who cannot list cluster-wide
		}
		if namespace != "" && !slices.Contains(s.Namespaces, namespace) {
			s.Namespaces = append(s.Namespaces, namespace)
		}
	}
	slices.Sort(s.Namespaces)
	return s
}

// lot is one list to read.
type lot struct {
	Type
	namespace string
	// instead are the namespaces to try if the cluster-wide list is forbidden.
	instead []string
}

func (s Scope) lots(types []Type) []lot {
	var lots []lot
	for _, t := range types {
		switch {
		case s.Everywhere && t.Namespaced:
			lots = append(lots, lot{t, "", s.Namespaces})
		case s.Everywhere:
			lots = append(lots, lot{t, "", nil})
		case t.Namespaced:
			for _, ns := range s.Namespaces {
				lots = append(lots, lot{t, ns, nil})
			}
		}
	}
	return lots
}

// Scan lists the metadata of all objects in a scope that can have owners. What cannot
// be listed is a gap; an error means that discovery failed or ctx ended.
func (r *Reader) Scan(ctx context.Context, s Scope) (*Graph, error) {
	kinds, err := r.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	lots := s.lots(r.wanted(kinds.Ownable()))
	found := make([][]listed, len(lots))
	var done atomic.Int64
	r.parallel(len(lots), func(i int) {
		if ctx.Err() == nil {
			found[i] = r.list(ctx, lots[i])
			r.opts.Progress(fmt.Sprintf("reading metadata: %d of %d lists", done.Add(1), len(lots)))
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	g := NewGraph(kinds)
	for i, l := range lots {
		for _, f := range found[i] {
			for _, o := range f.objects {
				g.Add(o)
			}
			if f.complete {
				g.MarkComplete(l.Type, f.namespace)
			}
		}
	}
	return g, nil
}

// wanted applies Options.Groups.
func (r *Reader) wanted(types []Type) []Type {
	if r.opts.Groups == nil {
		return types
	}
	groups := sets.New(r.opts.Groups...)
	if groups.Has("core") {
		groups.Insert("")
	}
	return slices.DeleteFunc(types, func(t Type) bool { return !groups.Has(t.Group) })
}

// listed is the result of one list.
type listed struct {
	namespace string
	objects   []*Object
	complete  bool
}

// list reads a list, or its namespaces if listing everything is forbidden.
func (r *Reader) list(ctx context.Context, l lot) []listed {
	objects, err := r.pages(ctx, l.Type, l.namespace, "")
	r.count(l.Type, len(objects))
	if err == nil {
		return []listed{{l.namespace, objects, true}}
	}
	if ctx.Err() != nil {
		return nil
	}
	r.gap(gapOf(l.Type, l.namespace, "", err))
	all := []listed{{l.namespace, objects, false}}
	if !apierrors.IsForbidden(err) {
		return all
	}
	for _, ns := range l.instead {
		objects, err := r.pages(ctx, l.Type, ns, "")
		r.count(l.Type, len(objects))
		if err != nil {
			r.gap(gapOf(l.Type, ns, "", err))
		}
		all = append(all, listed{ns, objects, err == nil})
	}
	return all
}

func (r *Reader) count(t Type, objects int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.types[t.String()] = true
	r.objects += objects
}

// maxRestarts bounds how often a list is restarted because its resourceVersion has
// expired.
const maxRestarts = 2

// pages lists metadata page by page; on an error, it also returns the pages before it.
func (r *Reader) pages(ctx context.Context, t Type, namespace, selector string) ([]*Object, error) {
	var objects []*Object
	opts := metav1.ListOptions{Limit: r.opts.PageSize, LabelSelector: selector}
	if r.opts.Cached {
		opts.ResourceVersion = "0"
	}
	for restarts := 0; ; {
		page, err := r.metadata.Resource(t.gvr()).Namespace(namespace).List(ctx, opts)
		if apierrors.IsResourceExpired(err) && opts.Continue != "" && restarts < maxRestarts {
			restarts++
			objects, opts.Continue = nil, ""
			continue
		}
		if err != nil {
			return objects, err
		}
		for i := range page.Items {
			objects = append(objects, objectOf(t, &page.Items[i]))
		}
		if page.Continue == "" {
			return objects, nil
		}
		opts.Continue, opts.ResourceVersion = page.Continue, ""
	}
}

// Select lists the metadata of a type's objects that match a label selector, ordered by
// name; an empty selector matches all. The error is the API server's.
func (r *Reader) Select(ctx context.Context, t Type, namespace, selector string) ([]*Object, error) {
	objects, err := r.pages(ctx, t, namespace, selector)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(objects, compareObjects)
	return objects, nil
}

func compareGaps(a, b document.ReadGap) int {
	return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
