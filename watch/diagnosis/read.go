package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// Reader reads Facts from one cluster. It is safe for concurrent use.
type Reader struct {
	owners  *owners.Reader
	client  kubernetes.Interface
	objects dynamic.Interface
}

// NewReader returns a Reader for a config of package connect. It reads ownership
// through owned, which also records gaps and counts the requests of both.
func NewReader(config *rest.Config, owned *owners.Reader) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	owned.Metered(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	return &Reader{owners: owned, client: client, objects: objects}, nil
}

// reading is a Read in progress.
type reading struct {
	*Reader
	*Facts
	ctx context.Context

	mu sync.Mutex
	// concerned are the target, its owners and its dependents, by type.
	concerned map[string][]*owners.Object
}

// Read reads the target and the objects related to it. What cannot be read becomes a
// gap; an error is returned only if the API server is unreachable or ctx ends.
func (r *Reader) Read(ctx context.Context, target *owners.Object) (*Facts, error) {
	graph, err := r.graph(ctx, target)
	if err != nil {
		return nil, err
	}
	graph.Add(target)
	target = graph.Object(target.UID)
	if err := r.owners.ClimbFrom(ctx, graph, target); err != nil {
		return nil, err
	}
	d := &reading{Reader: r, ctx: ctx, concerned: map[string][]*owners.Object{}, Facts: &Facts{
		Now: time.Now(), Target: target, Graph: graph, Known: map[string]bool{},
	}}
	for _, o := range Concerned(graph, target) {
		d.concerned[o.Type()] = append(d.concerned[o.Type()], o)
	}
	// In two steps: the second depends on what the first finds.
	d.together(d.status, d.workloads, d.pods, d.services, d.namespaced, d.namespace, d.autoscalers, d.crd)
	d.onlyConcerned()
	d.makersOf()
	d.together(d.nodes, d.volumes, d.apiServices, d.manager)
	d.events()
	d.standing()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return d.Facts, nil
}

// graph reads the metadata of everything in the target's namespace, or in the namespace
// that is the target. The dependents of other cluster-scoped objects may be in any
// namespace; they are read only if a foreground deletion waits for them.
func (r *Reader) graph(ctx context.Context, target *owners.Object) (*owners.Graph, error) {
	scope := owners.ScopeOf(target)
	switch {
	case target.Type() == "namespaces":
		scope = owners.Scope{Namespaces: []string{target.Name}}
	case target.Namespace == "" && (target.Deleting.IsZero() || !slices.Contains(target.Finalizers, metav1.FinalizerDeleteDependents)):
		kinds, err := r.owners.Kinds(ctx)
		if err != nil {
			return nil, err
		}
		return owners.NewGraph(kinds), nil
	}
	return r.owners.Scan(ctx, scope)
}

// Concerned returns the target, its owners up to the root, and its dependents, the
// target first.
func Concerned(graph *owners.Graph, target *owners.Object) []*owners.Object {
	list := []*owners.Object{target}
	seen := map[string]bool{target.UID: true}
	for i := 0; i < len(list); i++ {
		for _, ref := range list[i].Owners {
			if o := graph.Object(ref.UID); o != nil && ref.Controller && !seen[o.UID] {
				seen[o.UID] = true
				list = append(list, o)
			}
		}
	}
	for _, o := range graph.Descendants(target.UID) {
		if !seen[o.UID] {
			seen[o.UID] = true
			list = append(list, o)
		}
	}
	return list
}

func (d *reading) together(steps ...func()) {
	var wg sync.WaitGroup
	for _, step := range steps {
		wg.Go(step)
	}
	wg.Wait()
}

// gap records what could not be read. A type that is not served and an object that was
// deleted in the meantime are not gaps.
func (d *reading) gap(resource, namespace string, err error) {
	if err == nil || apierrors.IsNotFound(err) || d.ctx.Err() != nil {
		return
	}
	g := document.ReadGap{Type: resource, Namespace: namespace, Reason: "failed", Message: err.Error()}
	if apierrors.IsForbidden(err) {
		g.Reason = "forbidden"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.Facts.Gaps, g) {
		d.Facts.Gaps = append(d.Facts.Gaps, g)
	}
}

func (d *reading) known(resource string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Known[resource] = true
}

// maxRead bounds the objects read of a type; pageSize bounds the objects of one
// response.
const (
	maxRead  = 2000
	pageSize = 500
)

var errMany = errors.New("too many objects: only the first were read")

// list reads all pages of a type into the slice and records whether the list is
// complete.
func list[L interface {
	GetContinue() string
}, T any](d *reading, resource, namespace string, into *[]T, opts metav1.ListOptions,
	fetch func(context.Context, metav1.ListOptions) (L, error), items func(L) []T,
) {
	opts.Limit = pageSize
	for {
		page, err := fetch(d.ctx, opts)
		if err != nil {
			d.gap(resource, namespace, err)
			return
		}
		*into = append(*into, items(page)...)
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			d.known(resource)
			return
		}
		if len(*into) >= maxRead {
			d.gap(resource, namespace, errMany)
			return
		}
	}
}

// each reads the concerned objects of a type one by one.
func each[T any](d *reading, resource string, into *[]T, get func(context.Context, string, metav1.GetOptions) (*T, error)) {
	complete := true
	for _, o := range d.concerned[resource] {
		found, err := get(d.ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			d.gap(resource, o.Namespace, err)
			complete = complete && apierrors.IsNotFound(err)
			continue
		}
		*into = append(*into, *found)
	}
	if complete && d.Graph.Listed(groupResource(resource).Group, groupResource(resource).Resource, d.Target.Namespace) {
		d.known(resource)
	}
}

func groupResource(s string) schema.GroupResource { return schema.ParseGroupResource(s) }

// status reads the target itself. It skips Secrets and ConfigMaps, whose contents are
// not read.
func (d *reading) status() {
	if d.Target.Type() == "secrets" || d.Target.Type() == "configmaps" {
		return
	}
	resource := d.objects.Resource(schema.GroupVersionResource{Group: d.Target.Group, Version: d.Target.Version, Resource: d.Target.Resource})
	var o *unstructured.Unstructured
	var err error
	if d.Target.Namespace == "" {
		o, err = resource.Get(d.ctx, d.Target.Name, metav1.GetOptions{})
	} else {
		o, err = resource.Namespace(d.Target.Namespace).Get(d.ctx, d.Target.Name, metav1.GetOptions{})
	}
	if err != nil {
		d.gap(d.Target.Type(), d.Target.Namespace, err)
		return
	}
	d.Status = owners.StatusOf(o.Object)
}

func (d *reading) workloads() {
	ns := d.Target.Namespace
	each(d, "deployments.apps", &d.Deployments, d.client.AppsV1().Deployments(ns).Get)
	each(d, "replicasets.apps", &d.ReplicaSets, d.client.AppsV1().ReplicaSets(ns).Get)
	each(d, "replicationcontrollers", &d.Controllers, d.client.CoreV1().ReplicationControllers(ns).Get)
	each(d, "statefulsets.apps", &d.StatefulSets, d.client.AppsV1().StatefulSets(ns).Get)
	each(d, "daemonsets.apps", &d.DaemonSets, d.client.AppsV1().DaemonSets(ns).Get)
	each(d, "cronjobs.batch", &d.CronJobs, d.client.BatchV1().CronJobs(ns).Get)
	each(d, "jobs.batch", &d.Jobs, d.client.BatchV1().Jobs(ns).Get)
}

// fewPods is the number of pods up to which they are read one by one.
const fewPods = 10

// pods reads the concerned pods, the pods that a Service selects or that use a claim,
// and the pods of a node.
func (d *reading) pods() {
	ns := d.Target.Namespace
	pods := d.client.CoreV1().Pods(ns)
	items := func(l *corev1.PodList) []corev1.Pod { return l.Items }
	switch {
	case d.Target.Type() == "nodes":
		list(d, "pods", "", &d.Pods, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", d.Target.Name).String()}, d.client.CoreV1().Pods("").List, items)
	case ns == "":
	case d.usersWanted(), len(d.concerned["pods"]) > fewPods:
		// Metadata does not contain the claims that a pod uses.
		list(d, "pods", ns, &d.Pods, metav1.ListOptions{}, pods.List, items)
	default:
		each(d, "pods", &d.Pods, pods.Get)
	}
}

// usersWanted reports whether the relevant pods are not the target's dependents.
func (d *reading) usersWanted() bool {
	return d.targetIs("services") || d.targetIs("persistentvolumeclaims") || d.targetIs("poddisruptionbudgets.policy")
}

// onlyConcerned drops pods that were listed but are not relevant.
func (d *reading) onlyConcerned() {
	concerned := func(*corev1.Pod) bool { return true }
	switch {
	case d.targetIs("services"):
		selector := labels.Nothing()
		for i := range d.Services {
			if s := &d.Services[i]; string(s.UID) == d.Target.UID && len(s.Spec.Selector) > 0 {
				selector = labels.SelectorFromSet(s.Spec.Selector)
			}
		}
		concerned = func(p *corev1.Pod) bool { return selector.Matches(labels.Set(p.Labels)) }
	case d.targetIs("poddisruptionbudgets.policy"):
		selector := labels.Nothing()
		for i := range d.Budgets {
			if b := &d.Budgets[i]; string(b.UID) == d.Target.UID {
				if s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil {
					selector = s
				}
			}
		}
		concerned = func(p *corev1.Pod) bool { return selector.Matches(labels.Set(p.Labels)) }
	case d.targetIs("persistentvolumeclaims"):
		concerned = func(p *corev1.Pod) bool {
			return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
				return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == d.Target.Name
			})
		}
	case d.targetIs("nodes"):
	default:
		wanted := map[string]bool{}
		for _, o := range d.concerned["pods"] {
			wanted[o.UID] = true
		}
		concerned = func(p *corev1.Pod) bool { return wanted[string(p.UID)] }
	}
	d.Pods = slices.DeleteFunc(d.Pods, func(p corev1.Pod) bool { return !concerned(&p) })
}

func (d *reading) services() {
	ns := d.Target.Namespace
	each(d, "services", &d.Services, d.client.CoreV1().Services(ns).Get)
	each(d, "ingresses.networking.k8s.io", &d.Ingresses, d.client.NetworkingV1().Ingresses(ns).Get)
	each(d, "persistentvolumeclaims", &d.Claims, d.client.CoreV1().PersistentVolumeClaims(ns).Get)
}

// namespaced reads quotas, limit ranges and other rules of the namespace.
func (d *reading) namespaced() {
	ns := d.Target.Namespace
	if ns == "" && d.Target.Type() != "nodes" {
		return
	}
	list(d, "poddisruptionbudgets.policy", ns, &d.Budgets, metav1.ListOptions{}, d.client.PolicyV1().PodDisruptionBudgets(ns).List, budgetItems)
	if ns == "" {
		return
	}
	list(d, "resourcequotas", ns, &d.Quotas, metav1.ListOptions{}, d.client.CoreV1().ResourceQuotas(ns).List, func(l *corev1.ResourceQuotaList) []corev1.ResourceQuota { return l.Items })
	list(d, "limitranges", ns, &d.LimitRanges, metav1.ListOptions{}, d.client.CoreV1().LimitRanges(ns).List, func(l *corev1.LimitRangeList) []corev1.LimitRange { return l.Items })
}

func (d *reading) namespace() {
	name := d.Target.Namespace
	if d.Target.Type() == "namespaces" {
		name = d.Target.Name
	}
	if name == "" {
		return
	}
	ns, err := d.client.CoreV1().Namespaces().Get(d.ctx, name, metav1.GetOptions{})
	if err != nil {
		d.gap("namespaces", "", err)
		return
	}
	d.Namespace = ns
}
