package engine

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/internal/twin"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
)

// world is what is in the sandbox now, normalised: what a plan speaks of, by plan's own
// rules, and the nodes and Endpoints that it passes over.
func (l *live) world(t *testing.T, st *staged) twin.World {
	t.Helper()
	cluster, err := plan.NewCluster(l.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	captured, err := cluster.Capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var objects []twin.Object
	for _, n := range plan.Normalise(captured) {
		// The pod garbage collector keeps the newest terminated pod of the cluster.
		if n.Kind == "Pod" && (n.Health == "succeeded" || n.Health == "failed") {
			continue
		}
		delete(n.Content, "status")
		name := n.Pattern
		if alike := twin.Alike(n.Kind, n.Content); alike != "" {
			name = alike
		}
		objects = append(objects, twin.Object{
			ID: n.Kind + " " + name, Namespace: n.Namespace, Name: n.Name,
			Content: map[string]any{"health": n.Health, "object": n.Content, "status": twin.Settled(n.Status)},
		})
	}
	client := testbed.SeedClient(t, l.Sandbox)
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		objects = append(objects, normalNode(&nodes.Items[i]))
	}
	endpoints, err := l.seeder(t).objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "endpoints"}).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range endpoints.Items {
		objects = append(objects, normalEndpoints(&endpoints.Items[i]))
	}
	world, err := twin.NewWorld(objects, st.scenarioNamed)
	if err != nil {
		t.Fatal(err)
	}
	return world
}

// normalNode leaves times and addresses out.
func normalNode(n *corev1.Node) twin.Object {
	var taints, conditions []string
	for _, taint := range n.Spec.Taints {
		taints = append(taints, taint.Key+"="+taint.Value+":"+string(taint.Effect))
	}
	for _, c := range n.Status.Conditions {
		conditions = append(conditions, string(c.Type)+"="+string(c.Status)+" "+c.Reason)
	}
	slices.Sort(taints)
	slices.Sort(conditions)
	attached := []string{}
	for _, v := range n.Status.VolumesAttached {
		attached = append(attached, string(v.Name))
	}
	return twin.Object{ID: "Node " + n.Name, Name: n.Name, Content: map[string]any{
		"labels": n.Labels, "annotations": n.Annotations, "unschedulable": n.Spec.Unschedulable, "hasPodCIDR": n.Spec.PodCIDR != "",
		"taints": taints, "conditions": conditions, "attached": attached,
	}}
}

// normalEndpoints counts addresses.
func normalEndpoints(e *unstructured.Unstructured) twin.Object {
	var subsets []any
	list, _, _ := unstructured.NestedSlice(e.Object, "subsets")
	for _, item := range list {
		subset, _ := item.(map[string]any)
		ready, _ := subset["addresses"].([]any)
		notReady, _ := subset["notReadyAddresses"].([]any)
		subsets = append(subsets, map[string]any{"ready": len(ready), "notReady": len(notReady), "ports": subset["ports"]})
	}
	return twin.Object{ID: "Endpoints " + e.GetName(), Namespace: e.GetNamespace(), Name: e.GetName(), Content: map[string]any{"labels": e.GetLabels(), "subsets": subsets}}
}
