package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/leaktest"
)

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: node, SchedulerName: corev1.DefaultSchedulerName},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// What another observer knows of and the scheduler does not is its work to come.
func TestBusyComparesWithAnotherObserver(t *testing.T) {
	// The debugger's signal.Notify starts a goroutine of the runtime's, for good.
	verify := leaktest.Check(t, goleak.IgnoreAnyFunction("os/signal.loop"))
	foreign := pod("foreign", "")
	foreign.Spec.SchedulerName = "other"
	client := fake.NewClientset(pod("bound", "node-1"), pod("stuck", ""), foreign)
	s := build(Options{Unassigned: func() []*corev1.Pod {
		return []*corev1.Pod{pod("bound", ""), pod("new", ""), pod("stuck", ""), foreign}
	}}, client, client)
	if got := s.Busy(); !slices.Equal(got, []string{"the scheduler is starting"}) {
		t.Errorf("before Start: busy with %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pod n/bound: bound, not yet seen by its node",
		"pod n/new: not yet seen by the scheduler",
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		got := s.Busy()
		if slices.Equal(got, want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("busy with %q, want %q", got, want)
		}
	}
	var names []string
	for _, u := range s.Unschedulable() {
		names = append(names, u.Name+" "+u.Reason)
	}
	if !slices.Equal(names, []string{"foreign OtherScheduler", "stuck Unschedulable"}) {
		t.Errorf("unschedulable: %q", names)
	}
	cancel()
	s.Wait()
	verify()
}
