package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
)

// somebody is a patch by somebody else.
var somebody = []byte(`{"metadata":{"annotations":{"somebody":"was here"}}}`)

// deleteOnAnswer lets out what a ReplicaSet's loop writes but for the deletes.
const deleteOnAnswer = `apiVersion: kctl-ctrl.dev/v1alpha1
kind: ApprovePolicy
allow:
- controllers: [replicaset]
  verbs: [create, update, patch]
  kinds: [ReplicaSet, Pod]
  namespaces: [default]
`

// A yes on the screen for an object that has changed since lets nothing out, which the
// screen says and the API server's record shows; the loop asks again, and the yes to
// that holds.
func TestScreenRefusesALateYes(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	pods := withLabel(template("web:1"), "web")
	sets := c.client.AppsV1().ReplicaSets("default")
	_, err := sets.Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: pods.Labels}, Template: pods},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(deleteOnAnswer), 0o600); err != nil {
		t.Fatal(err)
	}
	there := func() []corev1.Pod {
		list, err := c.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	deletes := func() (n int) {
		for _, r := range c.requests(t) {
			if strings.HasPrefix(r.what, "delete ") && strings.Contains(r.what, "/pods/") {
				n++
			}
		}
		return n
	}

	x := onContested(t, c.way(t, "a"), 110, 30, "--active", "--controllers=replicaset", "--ask", "--approve-policy="+policy)
	x.shows("Type the name of the context:").press("contested<enter>").shows(" ACTIVE ", "FOR REAL")
	await(t, "the policy lets the pod be made", func() bool { return len(there()) == 1 })
	if _, err := sets.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := there()[0].Name
	x.shows(" 1 PENDING: A ").press("A").shows("delete pods default/"+pod, "asked ", engine.KeptLease)
	if _, err := c.client.CoreV1().Pods("default").Patch(t.Context(), pod, types.MergePatchType, somebody, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	x.press("y").shows("! Not sent after all, the object has changed meanwhile (rv ")
	x.matches(`> +2 +replicaset +default/web +delete pods default/` + pod) // asked again
	if len(there()) != 1 || deletes() != 0 {
		t.Errorf("of %d pods, %d deletes have arrived", len(there()), deletes())
	}
	x.press("y").shows("Approved delete pods default/" + pod)
	await(t, "the pod is deleted", func() bool { return len(there()) == 0 })
	if n := deletes(); n != 1 {
		t.Errorf("%d deletes have arrived", n)
	}
	x.press("<esc>").shows("1 of 49 running").press("4").matches(`delete +pods default/\S+ +refused +500`)
	x.press("qy")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d:\n%s", code, x.picture.String())
	}
}

// Likewise for a command behind the screen, which has the error for an answer.
func TestExecOnTheScreenRefusesALateYes(t *testing.T) {
	testbed.Parallel(t)
	p := emptyProof(t)
	p.seedConfigMaps(t)
	kubeconfig := p.kubeconfig(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := onTerminal(t, 120, 32, "exec", "--tui", "--active", "--ask", "--kubeconfig", kubeconfig, "--", "env", asOperator+"=1", self)
	x.shows("1 PENDING: A").press("A")
	for _, write := range []string{"create configmaps default/parent-child", "apply configmaps default/parent-applied", "patch configmaps default/parent", "update configmaps default/updated"} {
		x.shows("> ", write, "asked ").press("y").shows("Approved " + write)
	}
	x.shows("delete configmaps default/doomed", "asked ")
	if _, err := p.Client(t).CoreV1().ConfigMaps("default").Patch(t.Context(), "doomed", types.MergePatchType, somebody, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	x.press("y").shows("! Not sent after all, the object has changed meanwhile (rv ")
	x.shows("THE COMMAND has ended with exit code 1", "No pending writes.").press("<esc>").shows("> plain-operator").press("4").matches(`delete +configmaps default/doomed +refused +500`)
	if wrote := p.wrote(t, "plain-operator"); len(wrote) != 4 || p.Revisions(t)["/registry/configmaps/default/doomed"] == 0 {
		t.Errorf("the server has had %q, want four writes and no delete", wrote)
	}
	x.press("q")
	if code := x.ends(); code != 1 {
		t.Errorf("exit code %d:\n%s", code, x.picture.String())
	}
	if said := x.raw.String(); !strings.Contains(said, "approved but not sent: the object has changed meanwhile") {
		t.Errorf("the command was not told:\n%s", said)
	}
}
