package leases

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// NodeNamespace is where kubelets keep the leases that are their heartbeats.
const NodeNamespace = "kube-node-lease"

// systemNamespace is where the control plane keeps its leases.
const systemNamespace = "kube-system"

// Query selects leases.
type Query struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Names is empty for all names. Without a namespace they are looked up in all
	// namespaces.
	Names []string
	// Selector is a label selector; empty for all.
	Selector string
}

// listOptions requests no more than needed: a single name is selected by the server.
func (q Query) listOptions() metav1.ListOptions {
	options := metav1.ListOptions{LabelSelector: q.Selector}
	if len(q.Names) == 1 {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", q.Names[0]).String()
	}
	return options
}

func (q Query) wants(name string) bool {
	return len(q.Names) == 0 || slices.Contains(q.Names, name)
}

// Reader reads the leases of one cluster. It is safe for concurrent use.
type Reader struct {
	client kubernetes.Interface
}

// NewReader makes a Reader.
func NewReader(client kubernetes.Interface) *Reader { return &Reader{client: client} }

// List returns the leases without state and holder: see state.LeaseStatus.At and
// Resolve. resourceVersion is the list's, for Follow.
func (r *Reader) List(ctx context.Context, q Query) (found []state.LeaseStatus, resourceVersion string, err error) {
	list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := r.client.CoordinationV1().Leases(q.Namespace).List(ctx, options)
		if err == nil {
			resourceVersion = page.ResourceVersion
		}
		return page, err
	})
	err = list.EachListItem(ctx, q.listOptions(), func(object runtime.Object) error {
		if lease := object.(*coordinationv1.Lease); q.wants(lease.Name) {
			found = append(found, statusOf(lease))
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return found, resourceVersion, nil
}

// Candidates returns the LeaseCandidates of coordinated leader election, in the newest
// served version; none if the cluster serves none.
func (r *Reader) Candidates(ctx context.Context, q Query) ([]state.LeaseCandidate, error) {
	var found []state.LeaseCandidate
	list, err := r.client.CoordinationV1beta1().LeaseCandidates(q.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		for _, c := range list.Items {
			if q.wants(c.Spec.LeaseName) {
				found = append(found, state.LeaseCandidate{
					Namespace: c.Namespace, Name: c.Name, Lease: c.Spec.LeaseName,
					BinaryVersion: c.Spec.BinaryVersion, EmulationVersion: c.Spec.EmulationVersion, Strategy: string(c.Spec.Strategy),
					PingTime: timeOf(c.Spec.PingTime), RenewTime: timeOf(c.Spec.RenewTime),
				})
			}
		}
		return found, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	older, err := r.client.CoordinationV1alpha2().LeaseCandidates(q.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, c := range older.Items {
		if q.wants(c.Spec.LeaseName) {
			found = append(found, state.LeaseCandidate{
				Namespace: c.Namespace, Name: c.Name, Lease: c.Spec.LeaseName,
				BinaryVersion: c.Spec.BinaryVersion, EmulationVersion: c.Spec.EmulationVersion, Strategy: string(c.Spec.Strategy),
				PingTime: timeOf(c.Spec.PingTime), RenewTime: timeOf(c.Spec.RenewTime),
			})
		}
	}
	return found, nil
}

// timeOf is in UTC, with the API's resolution of microseconds.
func timeOf(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// Missing are the names of the query that were not found.
func Missing(q Query, found []state.LeaseStatus) []string {
	var missing []string
	for _, name := range q.Names {
		if !slices.ContainsFunc(found, func(l state.LeaseStatus) bool { return l.Name == name }) {
			missing = append(missing, name)
		}
	}
	return missing
}

func statusOf(lease *coordinationv1.Lease) state.LeaseStatus {
	spec := lease.Spec
	return state.LeaseStatus{
		Namespace: lease.Namespace, Name: lease.Name, Class: classOf(lease),
		Identity: valueOf(spec.HolderIdentity), Duration: valueOf(spec.LeaseDurationSeconds), Transitions: valueOf(spec.LeaseTransitions),
		AcquireTime: timeOf(spec.AcquireTime), RenewTime: timeOf(spec.RenewTime),
		Strategy: string(valueOf(spec.Strategy)), PreferredHolder: valueOf(spec.PreferredHolder),
		HostName: lease.Labels["kubernetes.io/hostname"], ResourceVersion: lease.ResourceVersion,
	}
}

func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// controlPlane are the leases of upstream's components: the defaults of their
// --leader-elect-resource-name and --leader-migration flags (Kubernetes 1.37).
var controlPlane = []string{
	"kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "cloud-provider-extraction-migration",
}

// identityLabel marks the leases by which API servers know each other
// (k8s.io/kubernetes v1.37.1 pkg/controlplane/apiserver/server.go).
const identityLabel = "apiserver.kubernetes.io/identity"

func classOf(lease *coordinationv1.Lease) state.LeaseClass {
	switch {
	case lease.Namespace == NodeNamespace:
		return state.LeaseOfNode
	case lease.Namespace == systemNamespace && (slices.Contains(controlPlane, lease.Name) || lease.Labels[identityLabel] != ""):
		return state.LeaseOfControlPlane
	}
	return state.LeaseOfWorkload
}

// Sort orders expired leases first, then those of the control plane, of workloads and
// of nodes; each by context, namespace and name. Their State must be set.
func Sort(list []state.LeaseStatus) {
	classes := []state.LeaseClass{state.LeaseOfControlPlane, state.LeaseOfWorkload, state.LeaseOfNode}
	slices.SortStableFunc(list, func(a, b state.LeaseStatus) int {
		return cmp.Or(
			cmp.Compare(order(a.State != state.LeaseExpired), order(b.State != state.LeaseExpired)),
			cmp.Compare(slices.Index(classes, a.Class), slices.Index(classes, b.Class)),
			strings.Compare(a.Context, b.Context),
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name),
		)
	})
}

func order(later bool) int {
	if later {
		return 1
	}
	return 0
}

// Host is the part of a holder's identity that names a machine or pod: the part before
// the underscore, if a UUID or similar follows.
func Host(identity string) string {
	host, _, _ := strings.Cut(identity, "_")
	return host
}

// key identifies a lease within one cluster.
func key(l state.LeaseStatus) string { return l.Namespace + "/" + l.Name }
