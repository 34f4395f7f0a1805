package nodes

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
)

// A node that Leave names keeps its status and gets no lease, and the pods on it
// stay as they are, while the other nodes are simulated.
func TestLeave(t *testing.T) {
	pod := func(name, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: "u"},
			Spec:       corev1.PodSpec{NodeName: node},
			Status:     corev1.PodStatus{Phase: corev1.PodPending},
		}
	}
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}}
	}
	client := fake.NewClientset(node("left"), node("other"), pod("p", "left"), pod("q", "other"))
	n, err := build(Options{Leave: func(node *corev1.Node) bool { return node.Name == "left" }}, client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	bounded, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	err = wait.PollUntilContextCancel(bounded, time.Millisecond, true, func(ctx context.Context) (bool, error) {
		q, err := client.CoreV1().Pods("n").Get(ctx, "q", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		other, err := client.CoreV1().Nodes().Get(ctx, "other", metav1.GetOptions{})
		return err == nil && q.Status.Phase == corev1.PodRunning && len(other.Status.Conditions) > 0 && len(n.Busy()) == 0, err
	})
	if err != nil {
		t.Fatalf("the other node is not simulated: %v; busy: %v", err, n.Busy())
	}
	cancel()
	n.Wait()
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb != "patch" && verb != "create" && verb != "update" {
			continue
		}
		if named, ok := action.(interface{ GetName() string }); ok && (named.GetName() == "left" || named.GetName() == "p") {
			t.Errorf("%s %s %s", action.GetVerb(), action.GetResource().Resource, named.GetName())
		}
	}
	if _, err := client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "left", metav1.GetOptions{}); err == nil {
		t.Error("the node that is left has a lease")
	}
}
