package diagnosis

import (
	corev1 "k8s.io/api/core/v1"
)

// nodeItself finds why a Node accepts no pods.
func nodeItself(f *Facts) []*draft {
	if !f.targetIs("nodes") {
		return nil
	}
	n, _ := f.node(f.Target.Name)
	if n == nil {
		return nil
	}
	r := core("nodes", n)
	var out []*draft
	if !nodeReady(n) {
		out = append(out, because("NodeNotReady", r, "node %s is not ready: its kubelet does not report Ready", n.Name).
			see(r, "status.conditions[type=Ready]", readyWords(n)).next("check the kubelet on the machine; kctl-ctrl get leases%s", in("kube-node-lease")))
	}
	if n.Spec.Unschedulable {
		out = append(out, because("Cordoned", r, "node %s is cordoned: no new pods are scheduled onto it", n.Name).
			see(r, "spec.unschedulable", true).next("kubectl uncordon %s", word(n.Name)))
	}
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue {
			out = append(out, because("NodePressure", r, "node %s reports %s", n.Name, c.Type).
				see(r, "status.conditions[type="+string(c.Type)+"]", joinWords(string(c.Status), c.Reason, c.Message)).next("kubectl describe node %s", word(n.Name)))
		}
	}
	return out
}
