package nodes

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
)

// The kubelet's own figures (kubernetes/pkg/kubelet/kubelet.go@v1.37.1:
// NodeLeaseDurationSeconds, nodeLeaseRenewIntervalFraction).
const (
	leaseSeconds  = 40
	renewInterval = leaseSeconds * time.Second / 4
)

// leases renews the leases in kube-node-lease, with the kubelet's own lease
// controller (component-helpers/apimachinery/lease@v0.37.1) per node.
type leases struct {
	client kubernetes.Interface
	clock  clock.Clock

	mu   sync.Mutex
	stop map[types.UID]context.CancelFunc
	wg   sync.WaitGroup
}

func newLeases(client kubernetes.Interface, clock clock.Clock) *leases {
	return &leases{client: client, clock: clock, stop: map[types.UID]context.CancelFunc{}}
}

// hold renews the lease of node until release, or until ctx is done. Further
// calls for the same node do nothing.
func (l *leases) hold(ctx context.Context, node *corev1.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.stop[node.UID]; ok || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	l.stop[node.UID] = cancel
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	holder := lease.NewController(l.clock, l.client, node.Name, leaseSeconds, nil, renewInterval,
		node.Name, corev1.NamespaceNodeLease, func(lease *coordinationv1.Lease) error {
			lease.OwnerReferences = []metav1.OwnerReference{owner}
			return nil
		})
	l.wg.Go(func() { holder.Run(ctx) })
}

func (l *leases) release(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel, ok := l.stop[uid]; ok {
		cancel()
		delete(l.stop, uid)
	}
}

// wait returns when no lease is renewed any more: after the contexts given to
// hold are done.
func (l *leases) wait() { l.wg.Wait() }
