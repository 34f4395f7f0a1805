package nodes

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/leaktest"
)

// No goroutine outlives the context and Wait, be it that the nodes were busy.
func TestNothingIsLeftRunning(t *testing.T) {
	verify := leaktest.Check(t)
	client := fake.NewClientset(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "u"},
		Spec:       corev1.PodSpec{NodeName: "node-2"},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	})
	n, err := build(Options{Count: 3}, client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		pod, err := client.CoreV1().Pods("n").Get(ctx, "p", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Status.Phase == corev1.PodRunning {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("phase %s; busy: %v", pod.Status.Phase, n.Busy())
		}
	}
	cancel()
	n.Wait()
	verify()
}

func TestFailedStartLeavesNothing(t *testing.T) {
	verify := leaktest.Check(t)
	n, err := build(Options{Count: 1}, fake.NewClientset())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Start(ctx); err == nil {
		t.Error("Start in a context that is done succeeded")
	}
	verify()
}
