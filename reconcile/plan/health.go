package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// inWords are the types whose status is told in a few words instead of field
// by field.
var inWords = map[string]func(content map[string]any) string{
	"Deployment.apps":       replicas,
	"ReplicaSet.apps":       replicas,
	"StatefulSet.apps":      replicas,
	"ReplicationController": replicas,
	"DaemonSet.apps": func(c map[string]any) string {
		return ready(number(c, "status", "numberReady"), number(c, "status", "desiredNumberScheduled"))
	},
	"Pod":           podStatus,
	"Job.batch":     jobStatus,
	"CronJob.batch": func(map[string]any) string { return "" },
	"Node": func(c map[string]any) string {
		if conditionsOf(c)["Ready"].status == "True" {
			return "ready"
		}
		return "not ready"
	},
	"PersistentVolumeClaim": phase,
	"PersistentVolume":      phase,
	"Namespace":             func(map[string]any) string { return "" },
	"EndpointSlice.discovery.k8s.io": func(c map[string]any) string {
		n := 0
		for _, e := range endpointsOf(c) {
			if e {
				n++
			}
		}
		return plural(n, "ready endpoint")
	},
	"PodDisruptionBudget.policy": func(c map[string]any) string {
		return fmt.Sprintf("disruptions allowed: %d", number(c, "status", "disruptionsAllowed"))
	},
	"CustomResourceDefinition.apiextensions.k8s.io": func(c map[string]any) string {
		if conditionsOf(c)["Established"].status == "True" {
			return "established"
		}
		return "not established"
	},
	"HorizontalPodAutoscaler.autoscaling":     func(map[string]any) string { return "" },
	"APIService.apiregistration.k8s.io":       func(map[string]any) string { return "" },
	"FlowSchema.flowcontrol.apiserver.k8s.io": func(map[string]any) string { return "" },
}

func number(content map[string]any, path ...string) int {
	value, _, _ := unstructured.NestedFieldNoCopy(content, path...)
	switch n := value.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func ready(have, want int) string {
	if have == 0 && want == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d ready", have, want)
}

func replicas(c map[string]any) string {
	return ready(number(c, "status", "readyReplicas"), number(c, "spec", "replicas"))
}

func phase(c map[string]any) string {
	p, _, _ := unstructured.NestedString(c, "status", "phase")
	return strings.ToLower(p)
}

func podStatus(c map[string]any) string {
	conditions := conditionsOf(c)
	p := phase(c)
	switch {
	case p == "running" && conditions["Ready"].status == "True":
		return "ready"
	case p == "running":
		return "not ready"
	case p == "pending" && conditions["PodScheduled"].status == "False":
		return "not scheduled"
	}
	return p
}

func jobStatus(c map[string]any) string {
	conditions := conditionsOf(c)
	switch {
	case conditions["Complete"].status == "True":
		return "complete"
	case conditions["Failed"].status == "True":
		return "failed"
	case conditions["Suspended"].status == "True":
		return "suspended"
	}
	return plural(number(c, "status", "active"), "active pod")
}

// endpointsOf are the endpoints of a slice by what they point at, and whether
// each is ready.
func endpointsOf(c map[string]any) map[string]bool {
	found := map[string]bool{}
	list, _ := c["endpoints"].([]any)
	for _, item := range list {
		endpoint, _ := item.(map[string]any)
		target, _, _ := unstructured.NestedString(endpoint, "targetRef", "uid")
		if target == "" {
			target = fmt.Sprint(endpoint["addresses"])
		}
		isReady, set, _ := unstructured.NestedBool(endpoint, "conditions", "ready")
		found[target] = isReady || !set
	}
	return found
}

// endpointsNote counts the endpoints that came and went in slices.
func endpointsNote(members []*item) string {
	if members[0].typeName() != "EndpointSlice.discovery.k8s.io" {
		return ""
	}
	before, after := map[string]bool{}, map[string]bool{}
	there := func(m *item) bool { return m.start != nil && m.end != nil }
	if !slices.ContainsFunc(members, there) {
		return "" // all came or all went
	}
	for _, m := range members {
		maps.Copy(before, endpointsOf(m.start))
		maps.Copy(after, endpointsOf(m.end))
	}
	added, removed := 0, 0
	for target := range after {
		if _, both := before[target]; !both {
			added++
		}
	}
	for target := range before {
		if _, both := after[target]; !both {
			removed++
		}
	}
	var parts []string
	if added > 0 {
		parts = append(parts, fmt.Sprintf("%d added", added))
	}
	if removed > 0 {
		parts = append(parts, fmt.Sprintf("%d removed", removed))
	}
	return strings.Join(parts, ", ")
}

// statusOf tells the health of members in words: "ready" where all are, "3 ready,
// 1 not scheduled" where they differ.
func statusOf(members []*item, atStart bool) string {
	words := map[string]int{}
	total, first := 0, ""
	for _, m := range members {
		content := m.end
		if atStart {
			content = m.start
		}
		if content == nil {
			continue
		}
		total++
		text := ""
		if tell := inWords[m.typeName()]; terminating(content) {
			text = "terminating"
		} else if tell != nil {
			text = tell(content)
		}
		if text != "" {
			words[text]++
			first = text
		}
	}
	if len(words) == 1 && total == words[first] {
		return first
	}
	var parts []string
	for _, text := range slices.Sorted(maps.Keys(words)) {
		parts = append(parts, fmt.Sprintf("%d %s", words[text], text))
	}
	return strings.Join(parts, ", ")
}

// claimsNote says that the claims of deleted StatefulSets stay, with their data,
// unless their namespace goes.
func (w *world) claimsNote(members []*item) string {
	kept := 0
	for _, m := range members {
		if m.typeName() != "StatefulSet.apps" || m.end != nil || w.emptied[m.namespace] {
			continue
		}
		for _, child := range m.children {
			if child.typeName() == "PersistentVolumeClaim" && child.end != nil && !terminating(child.end) {
				kept++
			}
		}
	}
	switch kept {
	case 0:
		return ""
	case 1:
		return "its claim stays"
	}
	return fmt.Sprintf("its %d claims stay", kept)
}

// scaled are the types with spec.replicas.
var scaled = []string{"Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps", "ReplicationController"}

// scaleOf is nil where the number of replicas stayed, or there is none.
func scaleOf(i *item) *document.PlanScale {
	if !slices.Contains(scaled, i.typeName()) {
		return nil
	}
	s := document.PlanScale{From: int64(number(i.start, "spec", "replicas")), To: int64(number(i.end, "spec", "replicas"))}
	if s.From == s.To {
		return nil
	}
	return &s
}
