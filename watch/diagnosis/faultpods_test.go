package diagnosis

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (w *world) pod(o map[string]any, p podState) {
	w.t.Helper()
	spec := o["spec"].(map[string]any)
	merge(spec, p.Spec)
	if len(p.Container) > 0 {
		merge(spec["containers"].([]any)[0].(map[string]any), p.Container)
	}
	merge(o["metadata"].(map[string]any), p.Metadata)
	s, known := shapes[p.Shape]
	if p.Shape == "" {
		s, known = shapes["ready"], true
		s.phase, _, _ = unstructured.NestedString(o, "status", "phase")
	}
	if !known {
		w.t.Fatalf("no shape %q", p.Shape)
	}
	status := map[string]any{"phase": s.phase, "qosClass": "Burstable"}
	if p.Shape == "failed" || p.Shape == "evicted" || p.Shape == "rejected" {
		setText(status, "reason", p.Reason)
		setText(status, "message", p.Message)
	}
	var notReady, inits []string
	status["initContainerStatuses"], inits = statuses(spec["initContainers"], p.Init, p.Shape == "initializing")
	if !s.unbound && p.Shape != "rejected" {
		status["containerStatuses"], notReady = statuses(spec["containers"], p.Containers, p.Shape == "initializing" || p.Shape == "creating" || p.Shape == "waiting")
		status["startTime"] = "2026-03-01T09:00:05Z"
	}
	if s.unbound {
		delete(spec, "nodeName")
	}
	var conditions []any
	for _, text := range s.conditions {
		text = strings.NewReplacer("%s", strings.Join(notReady, " "), "%i", strings.Join(inits, " "), "%m", p.Message).Replace(text)
		typ, rest, _ := strings.Cut(text, "=")
		state, why, _ := strings.Cut(rest, " ")
		reason, message, _ := strings.Cut(why, ": ")
		c := map[string]any{"type": typ, "status": state, "lastTransitionTime": "2026-03-01T09:00:10Z"}
		setText(c, "reason", reason)
		setText(c, "message", message)
		conditions = append(conditions, c)
	}
	status["conditions"] = conditions
	o["status"] = status
}

func setText(into map[string]any, key, value string) {
	if value != "" {
		into[key] = value
	}
}

// statuses are those of all containers: what is not said of one is that it runs,
// or, in a pod that has not started, that it waits. It gives the names of those
// that are not ready, too.
func statuses(containers any, said map[string]map[string]any, waiting bool) (out []any, not []string) {
	list, _ := containers.([]any)
	for _, c := range list {
		container := c.(map[string]any)
		name := container["name"].(string)
		s := map[string]any{
			"name": name, "image": container["image"], "ready": true, "started": true, "restartCount": 0,
			"state": map[string]any{"running": map[string]any{"startedAt": "2026-03-01T09:00:08Z"}},
		}
		if waiting {
			s["ready"], s["started"] = false, false
			s["state"] = map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}
		}
		if patch, has := said[name]; has {
			if state, has := patch["state"]; has {
				s["state"] = state
				delete(patch, "state")
				if _, running := state.(map[string]any)["running"]; !running {
					s["ready"], s["started"] = false, false
				}
			}
			merge(s, patch)
		}
		if s["ready"] != true {
			not = append(not, name)
		}
		out = append(out, s)
	}
	return out, not
}
