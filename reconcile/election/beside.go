package election

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// past is the age of the last renewal, by clocks that may differ, from which the usual
// lease counts as unused.
const past = time.Hour

// key is the component's usual lease: "namespace/name".
func (c Component) key() string { return c.Namespace + "/" + c.Name }

// inUse describes who uses the component's usual lease, or nothing. A lease that is
// free for a moment is in use: a candidate for it does not know of a process that leads
// with another lease.
func (c Component) inUse(ctx context.Context, leases coordinationv1client.LeasesGetter) (taken string, err error) {
	lease, err := leases.Leases(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case apierrors.IsForbidden(err):
		return "", c.unreadable(c.Namespace, c.Name)
	case err != nil:
		return "", fmt.Errorf("read the lease %s: %w", c.key(), err)
	}
	holder, renewed := lease.Spec.HolderIdentity, lease.Spec.RenewTime
	free := holder == nil || *holder == ""
	switch {
	case renewed == nil && free, renewed != nil && time.Since(renewed.Time) > past:
		return "", nil
	case free:
		return fmt.Sprintf("the lease %s of %s is free, but was in use %s ago", c.key(), c.Name, state.Short(max(0, time.Since(renewed.Time)))), nil
	}
	return fmt.Sprintf("%s holds the lease %s of %s", *holder, c.key(), c.Name), nil
}

func besideRefused(taken string) error {
	return refusal("%s: omit --leader-elect-resource-name and --leader-elect-resource-namespace to wait for it", taken)
}

// others are the leases that upstream's components hold by default, and the field
// managers with which they write leases.
var others = []string{"kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "cloud-provider-extraction-migration", "kube-apiserver", "kubelet"}

// identityLabel marks the leases by which API servers identify each other
// (k8s.io/kubernetes v1.37.1 pkg/controlplane/apiserver/server.go).
const identityLabel = "apiserver.kubernetes.io/identity"

// checkOwner rejects a lease that clearly belongs to another component, which could not
// work without it. Many leases do not show who owns them.
func (c Component) checkOwner(lease *coordinationv1.Lease) error {
	name := lease.Namespace + "/" + lease.Name
	whose := ""
	switch {
	case name == c.key():
		return nil
	case lease.Namespace == corev1.NamespaceNodeLease:
		whose = "a node's"
	case lease.Labels[identityLabel] != "":
		whose = lease.Labels[identityLabel] + "'s"
	case len(lease.OwnerReferences) > 0:
		owner := lease.OwnerReferences[0]
		whose = "owned by " + owner.Kind + " " + owner.Name
	case lease.Name != c.Name && slices.Contains(others, lease.Name):
		whose = lease.Name + "'s"
	default:
		for _, written := range lease.ManagedFields {
			if written.Manager != c.Name && slices.Contains(others, written.Manager) {
				whose = cmp.Or(whose, written.Manager+"'s")
			}
		}
	}
	if whose == "" {
		return nil
	}
	return refusal("the lease %s is %s, which could not work without it: omit --leader-elect-resource-name and --leader-elect-resource-namespace", name, whose)
}

// mayLead checks the usual lease before this process becomes the leader with another
// one.
func (e *Election) mayLead(ctx context.Context) error {
	e.mu.Lock()
	ask := e.beside != nil && !e.leading
	e.mu.Unlock()
	if !ask {
		return nil
	}
	taken, err := e.of.inUse(ctx, e.beside)
	if err != nil {
		e.failed("take", err)
		return err
	}
	if taken != "" {
		err := besideRefused(taken)
		e.end(err)
		return err
	}
	return nil
}

// watchUsual ends the term when the usual lease is acquired while this process leads
// with another, and when it could not be read for RenewDeadline. looked is closed once
// it has been seen free since this process leads.
func (e *Election) watchUsual(ctx context.Context, looked chan<- struct{}) {
	ticker := time.NewTicker(e.retry)
	defer ticker.Stop()
	seen := e.clock.Now()
	for {
		at := e.clock.Now()
		taken, err := e.of.inUse(ctx, e.beside)
		switch age := e.clock.Now() - seen; {
		case ctx.Err() != nil:
			return
		case taken != "":
			e.end(e.lost(taken))
			return
		case err == nil:
			seen = at
			if looked != nil {
				close(looked)
				looked = nil
			}
		case age >= e.gate.deadline:
			e.end(e.lost(fmt.Sprintf("the usual lease could not be checked for %s: %v", state.Short(age), err)))
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
