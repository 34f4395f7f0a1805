package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// Captured is an object at one time.
type Captured struct {
	// Resource is the plural of its type, "deployments".
	Resource string
	// Content is the complete object. It is shared: do not modify it.
	Content map[string]any
}

// State is the content of a cluster at one time, without the types in passedOver.
// Objects are sorted, each once in the preferred version of its type.
type State struct {
	Objects []Captured
}

// passedOver are types that a plan contains only if a manifest names the object:
// Events, heartbeats and locks; nodes; current usage of pods and nodes; and objects
// that only mirror others by address (Endpoints mirror EndpointSlices, IPAddresses the
// Services).
var passedOver = map[string]bool{
	"Event":                                    true,
	"Event.events.k8s.io":                      true,
	"Lease.coordination.k8s.io":                true,
	"LeaseCandidate.coordination.k8s.io":       true,
	"ComponentStatus":                          true,
	"Node":                                     true,
	"CSINode.storage.k8s.io":                   true,
	"Endpoints":                                true,
	"IPAddress.networking.k8s.io":              true,
	"StorageVersion.internal.apiserver.k8s.io": true,
	"PodMetrics.metrics.k8s.io":                true,
	"NodeMetrics.metrics.k8s.io":               true,
}

// Capture lists every listable type of the API server, concurrently. The lists are not
// from one moment: nothing may change during the call.
func (c *Cluster) Capture(ctx context.Context) (State, error) {
	types, err := c.listables(ctx)
	if err != nil {
		return State{}, err
	}
	lists := make([][]Captured, len(types))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, t := range types {
		group.Go(func() error {
			objects, err := c.list(ctx, t)
			if err != nil {
				return fmt.Errorf("list %s: %w", t.GroupResource(), err)
			}
			lists[i] = objects
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return State{}, err
	}
	return newState(slices.Concat(lists...)), nil
}

func (c *Cluster) list(ctx context.Context, t listable) ([]Captured, error) {
	var objects []Captured
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return c.objects.Resource(t.GroupVersionResource).List(ctx, options)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		objects = append(objects, Captured{Resource: t.Resource, Content: o.(*unstructured.Unstructured).Object})
		return nil
	})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil // the type no longer exists: its definition was deleted
	}
	return objects, err
}

// newState sorts objects and drops duplicates served under another group.
func newState(objects []Captured) State {
	uids := map[any]bool{}
	objects = slices.DeleteFunc(objects, func(o Captured) bool {
		uid := uidOf(o.Content)
		if uid == "" {
			return false
		}
		seen := uids[uid]
		uids[uid] = true
		return seen
	})
	slices.SortStableFunc(objects, func(a, b Captured) int {
		return compareIdentity(identityOf(a.Content), identityOf(b.Content))
	})
	return State{Objects: objects}
}

func uidOf(content map[string]any) string {
	uid, _, _ := unstructured.NestedString(content, "metadata", "uid")
	return uid
}

func compareIdentity(a, b identity) int {
	return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.group, b.group),
		strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
}
