package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// unschedulable reports the scheduler's message, checked against the nodes.
func unschedulable(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		c := condition(p, corev1.PodScheduled)
		if c == nil || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable || p.Spec.NodeName != "" || p.Status.Phase == corev1.PodFailed {
			return "", nil // a failed pod keeps the condition
		}
		r := podRef(p)
		d := because("Unschedulable", r, "pod %s cannot be scheduled on any node", p.Name)
		none := len(f.Nodes) == 0 && f.Known["nodes"]
		switch {
		case none:
			d.Text = fmt.Sprintf("pod %s cannot be scheduled: the cluster has no nodes", p.Name)
		default:
			if len(f.Nodes) > 0 {
				f.fit(p).explain(d, p)
			}
			if d.Cause == "Unschedulable" && f.place(d, p) {
				d.see(r, "status.conditions[type=PodScheduled]", c.Message)
				return d.Cause + d.Text, d
			}
		}
		if d.Cause == "Unschedulable" && !none {
			d.likely()
			if strings.Contains(c.Message, "unbound immediate PersistentVolumeClaims") || strings.Contains(c.Message, "persistentvolumeclaim") {
				d.symptom() // claims reports why
				d.Text = fmt.Sprintf("pod %s waits for its PersistentVolumeClaims", p.Name)
			}
		}
		d.see(r, "status.conditions[type=PodScheduled]", c.Message)
		if d.Next == "" {
			d.next("%s", kubectl("describe", r))
		}
		return d.Cause + c.Message, d
	})
}

// fit is which nodes exclude a pod, and why.
type fit struct {
	nodes      int
	selector   []string
	taints     map[string][]string
	resources  map[corev1.ResourceName][]string
	candidates int
}

// fit applies the scheduler's filters to the nodes, without the resources that other
// pods use.
func (f *Facts) fit(p *corev1.Pod) fit {
	out := fit{nodes: len(f.Nodes), taints: map[string][]string{}, resources: map[corev1.ResourceName][]string{}}
	wants := resource.PodRequests(p, resource.PodResourcesOptions{})
	affinity := nodeaffinity.GetRequiredNodeAffinity(p)
	for i := range f.Nodes {
		n := &f.Nodes[i]
		kept := false
		if ok, err := affinity.Match(n); err == nil && !ok {
			out.selector, kept = append(out.selector, n.Name), true
		}
		if taint, not := schedulinghelpers.FindMatchingUntoleratedTaint(klog.TODO(), n.Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		}, true); not {
			text := taint.ToString()
			out.taints[text], kept = append(out.taints[text], n.Name), true
		}
		for name, want := range wants {
			if have := n.Status.Allocatable[name]; !want.IsZero() && have.Cmp(want) < 0 {
				out.resources[name], kept = append(out.resources[name], n.Name), true
			}
		}
		if !kept {
			out.candidates++
		}
	}
	return out
}

// explain takes as the cause what excludes every node, or else what excludes the most.
func (t fit) explain(d *draft, p *corev1.Pod) {
	r := podRef(p)
	tainted := 0
	var taints []string
	for text, nodes := range t.taints {
		tainted += len(nodes)
		taints = append(taints, text)
	}
	slices.Sort(taints)
	var short []corev1.ResourceName
	for name := range t.resources {
		short = append(short, name)
	}
	slices.SortFunc(short, func(a, b corev1.ResourceName) int { return len(t.resources[b]) - len(t.resources[a]) })
	wants := resource.PodRequests(p, resource.PodResourcesOptions{})
	all := plural(t.nodes, "node", "nodes")
	switch {
	case len(t.selector) == t.nodes:
		d.Cause, d.Text = "NodeSelector", fmt.Sprintf("no node has the labels that pod %s requires (%s checked)", p.Name, all)
		if len(p.Spec.NodeSelector) > 0 {
			d.see(r, "spec.nodeSelector", labels.Set(p.Spec.NodeSelector))
		} else {
			d.see(r, "spec.affinity.nodeAffinity", requiredTerms(p))
		}
		d.next("label a node, or correct the selector: kubectl get nodes --show-labels")
	case tainted == t.nodes:
		d.Cause, d.Text = "Taints", fmt.Sprintf("pod %s does not tolerate the taints of any node (%s checked)", p.Name, all)
		for _, text := range taints {
			d.see(r, "spec.tolerations", "none for "+text+" on "+few(t.taints[text]))
		}
		d.next("add a toleration, or remove the taint: kubectl taint nodes %s %s-", word(t.taints[taints[0]][0]), word(taints[0]))
		if cordon := corev1.TaintNodeUnschedulable + ":" + string(corev1.TaintEffectNoSchedule); len(t.taints[cordon]) == t.nodes {
			d.Text = fmt.Sprintf("pod %s cannot be scheduled: every node is cordoned (%s checked)", p.Name, all)
			d.next("kubectl uncordon %s", word(t.taints[cordon][0]))
		}
	case len(short) > 0 && len(t.resources[short[0]]) == t.nodes:
		name := short[0]
		want := wants[name]
		d.Cause, d.Text = "InsufficientResources", fmt.Sprintf("pod %s requests %s %s, more than any node has (%s checked)", p.Name, want.String(), name, all)
		d.see(r, "spec.containers[].resources.requests."+string(name), want.String())
		d.next("reduce the requests, or add a larger node: kubectl describe nodes")
	case strings.Contains(messageOf(p), "Insufficient"):
		// The nodes are large enough, but other pods use their resources.
		d.Cause, d.Text = "InsufficientResources", fmt.Sprintf("the candidate nodes of pod %s are full: other pods use the resources that it requests", p.Name)
		d.see(r, "spec.containers[].resources.requests", resources(wants))
		d.next("free resources, reduce the requests, or add a node: kubectl describe nodes")
	case t.candidates == 0:
		d.Text = fmt.Sprintf("pod %s cannot be scheduled: each node is excluded for a different reason", p.Name)
		if len(t.selector) > 0 {
			d.see(r, "spec.nodeSelector", "does not match "+few(t.selector))
		}
		for _, text := range taints {
			d.see(r, "spec.tolerations", "none for "+text+" on "+few(t.taints[text]))
		}
		for _, name := range short {
			want := wants[name]
			d.see(r, "spec.containers[].resources.requests."+string(name), want.String()+", more than available on "+few(t.resources[name]))
		}
	}
}

func messageOf(p *corev1.Pod) string {
	if c := condition(p, corev1.PodScheduled); c != nil {
		return c.Message
	}
	return ""
}

func requiredTerms(p *corev1.Pod) string {
	var out []string
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			var parts []string
			for _, e := range term.MatchExpressions {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, e.Operator, strings.Join(e.Values, ","))))
			}
			out = append(out, strings.Join(parts, " and "))
		}
	}
	return strings.Join(out, ", or ")
}

// noNodeFits reports DaemonSets that match no node.
func noNodeFits(f *Facts) []*draft {
	var out []*draft
	for i := range f.DaemonSets {
		s := &f.DaemonSets[i]
		if s.Status.DesiredNumberScheduled > 0 || s.Status.ObservedGeneration < s.Generation || !f.Known["nodes"] {
			continue
		}
		r := refOf("apps", "v1", "daemonsets", s)
		if len(f.Nodes) == 0 {
			out = append(out, because("NoNodeFits", r, "DaemonSet %s creates no pods: the cluster has no nodes", s.Name).see(r, "status.desiredNumberScheduled", 0).next("add a node"))
			continue
		}
		p := &corev1.Pod{ObjectMeta: s.Spec.Template.ObjectMeta, Spec: s.Spec.Template.Spec}
		p.Name, p.Namespace = s.Name, s.Namespace
		// The DaemonSet controller ignores resources, and its pods tolerate the taints
		// that Kubernetes sets on nodes.
		t := f.fit(p)
		d := because("NoNodeFits", r, "DaemonSet %s matches no node (%s checked)", s.Name, plural(t.nodes, "node", "nodes")).see(r, "status.desiredNumberScheduled", 0)
		if len(t.selector) > 0 {
			d.Text += ": they lack the labels that it requires"
			if len(p.Spec.NodeSelector) > 0 {
				d.see(r, "spec.template.spec.nodeSelector", labels.Set(p.Spec.NodeSelector))
			} else {
				d.see(r, "spec.template.spec.affinity.nodeAffinity", requiredTerms(p))
			}
			d.next("label a node, or correct the selector: kubectl get nodes --show-labels")
		}
		for text, nodes := range t.taints {
			d.see(r, "spec.template.spec.tolerations", "none for "+text+" on "+few(nodes))
		}
		if len(t.selector) == 0 && len(t.taints) == 0 {
			d.likely()
		}
		if d.Next == "" {
			d.next("kubectl describe nodes")
		}
		out = append(out, d)
	}
	return out
}
