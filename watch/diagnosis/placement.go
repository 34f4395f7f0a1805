package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A filtered is one reason of the scheduler's message and the number of nodes that it
// excludes.
type filtered struct {
	nodes int
	text  string
}

var (
	availableText = regexp.MustCompile(`^0/(\d+) nodes are available: `)
	reasonText    = regexp.MustCompile(`^(\d+) (.*)$`)
)

// reasons parses the scheduler's message, without its part about preemption
// (k8s.io/kubernetes v1.37.1 pkg/scheduler/framework/types.go FitError).
func reasons(message string) (nodes int, out []filtered) {
	m := availableText.FindStringSubmatch(message)
	if m == nil {
		return 0, nil
	}
	nodes, _ = strconv.Atoi(m[1])
	message, _, _ = strings.Cut(message[len(m[0]):], " preemption: ")
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(message), "."), ", ") {
		if r := reasonText.FindStringSubmatch(part); r != nil {
			n, _ := strconv.Atoi(r[1])
			out = append(out, filtered{n, strings.TrimSuffix(r[2], ".")})
		}
	}
	return nodes, out
}

// placement is a reason of the scheduler that the pod's own fields can confirm.
type placement struct {
	cause string
	// texts are the messages of the scheduler's plugins.
	texts []string
	text  string
	next  string
	// fields are the pod's fields that confirm the reason; without any, the finding is
	// only likely.
	fields func(*Facts, *corev1.Pod) []field
}

type field struct{ path, value string }

var placements = []placement{
	{
		"PodAntiAffinity", []string{"didn't match pod anti-affinity rules", "didn't satisfy existing pods anti-affinity rules"},
		"pod %s cannot be scheduled: on every candidate node, its anti-affinity rules or those of existing pods exclude it",
		"reduce the replicas, add a node, or use preferredDuringSchedulingIgnoredDuringExecution", antiAffinity,
	},
	{
		"PodAffinity", []string{"didn't match pod affinity rules"},
		"pod %s cannot be scheduled: no candidate node runs a pod that its affinity rules require",
		"create the pods that it requires, or correct the selector", podAffinity,
	},
	{
		"TopologySpread", []string{"didn't match pod topology spread constraints"},
		"pod %s cannot be scheduled: no node satisfies its topology spread constraints",
		"label the nodes, widen maxSkew, or use whenUnsatisfiable: ScheduleAnyway", topologySpread,
	},
	{
		"HostPortInUse", []string{"didn't have free ports for the requested pod ports"},
		"pod %s cannot be scheduled: its host port is in use on every candidate node",
		"use a Service instead of hostPort, or run fewer pods than nodes", hostPorts,
	},
	{
		"VolumeNodeAffinity", []string{"didn't match PersistentVolume's node affinity", "had volume node affinity conflict", "had no available volume zone"},
		"pod %s uses a volume that is not accessible from any available node",
		"restore a node that can access the volume, or move the data: kubectl describe pv", claimFields,
	},
	{
		"VolumeLimit", []string{"exceed max volume count"},
		"pod %s cannot be scheduled: every node has reached its volume limit",
		"add a node, or use fewer volumes per node: kubectl get csinodes -o yaml", claimFields,
	},
	{
		"VolumeInUse", []string{"ReadWriteOncePod access mode already in-use"},
		"pod %s uses a ReadWriteOncePod claim that another pod is using",
		"delete the other pod, or create a claim with ReadWriteOnce", claimFields,
	},
	{
		"TooManyPods", []string{"Too many pods"},
		"pod %s cannot be scheduled: every candidate node runs its maximum number of pods",
		"add a node, or raise maxPods in the kubelet configuration", func(f *Facts, _ *corev1.Pod) []field {
			var out []field
			for i := range f.Nodes {
				pods := f.Nodes[i].Status.Allocatable[corev1.ResourcePods]
				out = append(out, field{"node " + f.Nodes[i].Name + " status.allocatable.pods", pods.String()})
			}
			return out[:min(len(out), maxNamed)]
		},
	},
}

// place compares the scheduler's reasons with the pod's fields. The reason that
// excludes the most nodes is the cause; it is certain if it excludes all nodes and the
// pod's fields confirm it. place returns false if it recognises no reason.
func (f *Facts) place(d *draft, p *corev1.Pod) bool {
	nodes, all := reasons(messageOf(p))
	slices.SortStableFunc(all, func(a, b filtered) int { return b.nodes - a.nodes })
	for _, reason := range all {
		i := slices.IndexFunc(placements, func(k placement) bool {
			return slices.ContainsFunc(k.texts, func(text string) bool { return strings.Contains(reason.text, text) })
		})
		if i < 0 {
			continue
		}
		known := placements[i]
		fields := known.fields(f, p)
		d.Cause, d.Text = known.cause, fmt.Sprintf(known.text, p.Name)
		if reason.nodes < nodes || len(fields) == 0 {
			d.likely()
		}
		for _, of := range fields {
			d.see(podRef(p), of.path, of.value)
		}
		d.next("%s", known.next)
		return true
	}
	return false
}

func termFields(path string, terms []corev1.PodAffinityTerm) []field {
	var out []field
	for _, t := range terms {
		out = append(out, field{path + ".requiredDuringSchedulingIgnoredDuringExecution[]", metav1.FormatLabelSelector(t.LabelSelector) + ", topologyKey " + t.TopologyKey})
	}
	return out
}

func antiAffinity(_ *Facts, p *corev1.Pod) []field {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return termFields("spec.affinity.podAntiAffinity", p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

func podAffinity(_ *Facts, p *corev1.Pod) []field {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAffinity == nil {
		return nil
	}
	return termFields("spec.affinity.podAffinity", p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

func topologySpread(_ *Facts, p *corev1.Pod) []field {
	var out []field
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			out = append(out, field{"spec.topologySpreadConstraints[]", fmt.Sprintf("topologyKey %s, maxSkew %d, %s", c.TopologyKey, c.MaxSkew, metav1.FormatLabelSelector(c.LabelSelector))})
		}
	}
	return out
}

func hostPorts(_ *Facts, p *corev1.Pod) []field {
	var out []field
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				out = append(out, field{"spec.containers[name=" + c.Name + "].ports[].hostPort", fmt.Sprint(port.HostPort)})
			}
		}
	}
	return out
}

func claimFields(_ *Facts, p *corev1.Pod) []field {
	var out []field
	for _, name := range claimsOf(p) {
		out = append(out, field{"spec.volumes[].persistentVolumeClaim.claimName", name})
	}
	return out
}
