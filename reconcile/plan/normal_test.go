package plan

import (
	"reflect"
	"testing"
)

// The same objects with other generated names, UIDs and times, from two clusters.
func TestNormalise(t *testing.T) {
	cluster := func(uid, suffix, time, node string) State {
		set := map[string]any{
			"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": map[string]any{"namespace": "n", "name": "web", "uid": uid, "resourceVersion": suffix},
			"spec": map[string]any{"replicas": int64(1)}, "status": map[string]any{"readyReplicas": int64(1), "observedGeneration": int64(len(time))},
		}
		pod := map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{
				"namespace": "n", "name": "web-" + suffix, "generateName": "web-", "uid": uid[:35] + "f", "creationTimestamp": time,
				"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true}},
			},
			"spec":   map[string]any{"nodeName": node},
			"status": map[string]any{"phase": "Running", "startTime": time, "conditions": []any{map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": time}}},
		}
		return newState([]Captured{{Resource: "replicasets", Content: set}, {Resource: "pods", Content: pod}})
	}
	one := Normalise(cluster("00000000-0000-0000-0000-000000000001", "bcdfg", "2026-01-01T00:00:00Z", "node-1"))
	two := Normalise(cluster("00000000-0000-0000-0000-000000000002", "hjklm", "2027-01-01T00:00:00.5Z", "node-2"))
	if len(one) != 2 {
		t.Fatalf("%d objects: %+v", len(one), one)
	}
	for i := range one {
		one[i].Name, two[i].Name = "", ""
		if !reflect.DeepEqual(one[i], two[i]) {
			t.Errorf("differ:\n%+v\n%+v", one[i], two[i])
		}
	}
	if pod := one[0]; pod.Pattern != "web-*" || pod.Health != "ready" || pod.Kind != "Pod" || one[1].Health != "1/1 ready" {
		t.Errorf("%+v", one)
	}
	if _, ok := one[0].Status.(map[string]any)["startTime"]; ok {
		t.Errorf("a time is left: %v", one[0].Status)
	}
}
