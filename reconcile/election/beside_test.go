package election

import (
	"errors"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// takeUsual has another hold the usual lease.
func (s *store) takeUsual() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usual = &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-controller-manager"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("node_1"), RenewTime: ptr.To(metav1.NowMicro())},
	}
}

// Who leads under another lease makes way for who takes the usual one.
func TestUsualLeaseTakenWhileLeading(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	tr.takeUsual()
	tr.mustBeLost(t, "node_1 holds the lease kube-system/kube-controller-manager")
}

// The usual lease may be taken while this process waits for another: it never leads
// then.
func TestUsualLeaseTakenWhileWaiting(t *testing.T) {
	tr := newTrial(t)
	stop := tr.live(t)
	failed := make(chan error, 1)
	go func() { failed <- tr.Acquire(t.Context()) }()
	tr.until(t, "it waits", func() bool { return tr.reads() > 1 })
	tr.takeUsual()
	stop()
	var refused *Refusal
	if err := <-failed; !errors.As(err, &refused) || !strings.Contains(err.Error(), "omit --leader-elect-resource-name") {
		t.Errorf("it ended with %v", err)
	}
	tr.mustBeShut(t, "node_1 holds")
	if holder := tr.heldBy(); holder == "me" {
		t.Error("it took the lease")
	}
}

// The usual lease may be taken between the look before the lease is written and the
// loops' start.
func TestUsualLeaseTakenAtTheSameTime(t *testing.T) {
	tr := newTrial(t)
	tr.hold("", ptr.To[int32](1), nil)
	tr.store.onUpdate = func() error { tr.takeUsual(); return nil }
	var lost *LostError
	if err := tr.Acquire(t.Context()); !errors.As(err, &lost) {
		t.Errorf("it leads, or ended with %v", err)
	}
}

// Nothing tells whether another leads: that is borne as long as a missing renewal.
func TestUsualLeaseUnreadable(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	tr.store.mu.Lock()
	tr.store.usualErr = errors.New("no way to the server")
	tr.store.onUpdate = func() error { tr.clock.advance(retryPeriod); return nil } // its own lease is renewed in time
	tr.store.mu.Unlock()
	tr.mustBeLost(t, "read the lease kube-system/kube-controller-manager: no way to the server")
}
