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

// A filtered is one reason of the scheduler's message, and how many nodes it rules
// out.
type filtered struct {
	nodes int
	text  string
}

var (
	availableText = regexp.MustCompile(`^0/(\d+) nodes are available: `)
	reasonText    = regexp.MustCompile(`^(\d+) (.*)$`)
)

// reasons are those of the scheduler's message, without what preemption would
// have done (k8s.io/kubernetes v1.37.1 pkg/scheduler/framework/types.go FitError).
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
	// texts are what the scheduler's plugins say.
	texts []string
	text  string
	next  string
	// fields are what the pod says about it; without any, the reason is not
	// confirmed.
	fields func(*Facts, *corev1.Pod) []field
}

type field struct{ path, value string }

var placements = []placement{
	{
		"PodAntiAffinity", []string{"didn't match pod anti-affinity rules", "didn't satisfy existing pods anti-affinity rules"},
		"every node that pod %s could go to has a pod that it must not be with, or that must not be with it",
		"fewer replicas, another node, or preferredDuringSchedulingIgnoredDuringExecution", antiAffinity,
	},
	{
		"PodAffinity", []string{"didn't match pod affinity rules"},
		"pod %s must be where certain other pods are, and no node that it could go to has one",
		"start the pods that it must be with, or correct the selector", podAffinity,
	},
	{
		"TopologySpread", []string{"didn't match pod topology spread constraints"},
		"no node keeps the spread that pod %s asks for",
		"label the nodes, widen maxSkew, or use whenUnsatisfiable: ScheduleAnyway", topologySpread,
	},
	{
		"HostPortInUse", []string{"didn't have free ports for the requested pod ports"},
		"every node that pod %s could go to has its host port in use",
		"use a Service in place of hostPort, or fewer pods than nodes", hostPorts,
	},
	{
		"VolumeNodeAffinity", []string{"didn't match PersistentVolume's node affinity", "had volume node affinity conflict", "had no available volume zone"},
		"pod %s uses a volume that no available node can reach",
		"bring back a node where the volume is, or move the data: kubectl describe pv", claimFields,
	},
	{
		"VolumeLimit", []string{"exceed max volume count"},
		"no node can attach another volume for pod %s",
		"add a node, or fewer volumes for each: kubectl get csinodes -o yaml", claimFields,
	},
	{
		"VolumeInUse", []string{"ReadWriteOncePod access mode already in-use"},
		"pod %s uses a claim that one pod only may use, and another one does",
		"end the other pod, or make a claim with ReadWriteOnce", claimFields,
	},
	{
		"TooManyPods", []string{"Too many pods"},
		"every node that pod %s could go to has as many pods as it may",
		"add a node, or raise maxPods of the kubelets", func(f *Facts, _ *corev1.Pod) []field {
			var out []field
			for i := range f.Nodes {
				pods := f.Nodes[i].Status.Allocatable[corev1.ResourcePods]
				out = append(out, field{"node " + f.Nodes[i].Name + " status.allocatable.pods", pods.String()})
			}
			return out[:min(len(out), maxNamed)]
		},
	},
}

// place holds the scheduler's reasons against the pod. The one that rules out the
// most nodes is the cause; it is certain where it rules out all of them and the
// pod has what it speaks of. It reports false where it knows none of them.
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
