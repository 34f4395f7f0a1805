package metrics

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	var v T
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

// TestUsage has what the containers of a pod use, as "name cpu memory".
func TestUsage(t *testing.T) {
	const (
		one = `{name: a, image: i, resources: {requests: {cpu: 100m, memory: 100Mi}}}`
		two = `{name: b, image: i, resources: {requests: {cpu: 300m, memory: 100Mi}}}`
	)
	for _, test := range []struct{ what, annotations, spec, metrics, want string }{
		{"requests", `{}`, `containers: [` + one + `, ` + two + `]`, ``, "a 100m 100Mi, b 300m 100Mi"},
		{"no requests", `{}`, `containers: [{name: a, image: i}]`, ``, "a 0 0"},
		{"annotations in proportion to requests", `{kctl-ctrl.dev/cpu-usage: "1", kctl-ctrl.dev/memory-usage: 1Gi}`, `containers: [` + one + `, ` + two + `]`,
			`{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}`, "a 250m 512Mi, b 750m 512Mi"},
		{"annotation without requests", `{kctl-ctrl.dev/cpu-usage: 5m}`, `containers: [{name: a, image: i}, {name: b, image: i}]`, ``, "a 3m 0, b 2m 0"},
		{"annotation that is none", `{kctl-ctrl.dev/cpu-usage: much, kctl-ctrl.dev/memory-usage: "-1"}`, `containers: [` + one + `]`, ``, "a 100m 100Mi"},
		{"utilization", `{}`, `containers: [` + one + `, ` + two + `]`,
			`{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}`, "a 50m 100Mi, b 150m 100Mi"},
		{"utilization, to the nearest", `{}`, `containers: [{name: a, image: i, resources: {requests: {cpu: 10m}}}]`,
			`{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 33}}}`, "a 3m 0"},
		{"average value", `{}`, `containers: [` + one + `, ` + two + `]`,
			`{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 40Mi}}}`, "a 100m 20Mi, b 300m 20Mi"},
		{"one container", `{}`, `containers: [` + one + `, ` + two + `]`,
			`{type: ContainerResource, containerResource: {name: cpu, container: b, target: {type: Utilization, averageUtilization: 10}}}`, "a 100m 100Mi, b 30m 100Mi"},
		{"other metrics", `{}`, `containers: [` + one + `]`,
			`{type: External, external: {metric: {name: queue}, target: {type: Value, value: "1"}}}`, "a 100m 100Mi"},
		{"sidecar", `{}`, `containers: [` + one + `], initContainers: [{name: s, image: i, restartPolicy: Always, resources: {requests: {cpu: 100m}}}, {name: once, image: i}]`,
			`{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}`, "s 50m 0, a 50m 100Mi"},
		{"request of the pod", `{}`, `resources: {requests: {cpu: "1"}}, containers: [{name: a, image: i}]`,
			`{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}`, "a 800m 0"},
	} {
		t.Run(test.what, func(t *testing.T) {
			pod := read[corev1.Pod](t, "metadata: {annotations: "+test.annotations+"}\nspec: {"+test.spec+"}")
			var scaledBy *autoscalingv2.HorizontalPodAutoscaler
			if test.metrics != "" {
				scaledBy = read[autoscalingv2.HorizontalPodAutoscaler](t, "spec: {metrics: ["+test.metrics+"]}")
			}
			var got []string
			for _, c := range containersOf(pod, scaledBy) {
				got = append(got, c.Name+" "+c.Usage.Cpu().String()+" "+c.Usage.Memory().String())
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("%s, want %s", strings.Join(got, ", "), test.want)
			}
		})
	}
}

func TestMulDiv(t *testing.T) {
	for _, test := range [][4]int64{{10, 33, 100, 3}, {10, 35, 100, 4}, {0, 5, 3, 0}, {1 << 62, 100, 100, 1 << 62}, {1 << 62, 1 << 62, 1, 0}} {
		if got := mulDiv(test[0], test[1], test[2]); got != test[3] {
			t.Errorf("%d*%d/%d = %d, want %d", test[0], test[1], test[2], got, test[3])
		}
	}
}

func TestSplitAddsUp(t *testing.T) {
	for _, requests := range [][]int64{{1}, {1, 1, 1}, {0, 0, 0}, {7, 0, 3}, {1 << 50, 1 << 51}} {
		for _, total := range []int64{0, 1, 100, 1 << 60} {
			var sum int64
			for _, part := range split(total, requests) {
				if part < 0 {
					t.Errorf("split(%d, %v) has a negative part", total, requests)
				}
				sum += part
			}
			if sum != total {
				t.Errorf("split(%d, %v) adds up to %d", total, requests, sum)
			}
		}
	}
}

// TestAutoscalerOf finds the autoscaler of what owns a pod, over what stands between.
func TestAutoscalerOf(t *testing.T) {
	autoscaler := func(name, apiVersion, kind, target string) autoscalingv2.HorizontalPodAutoscaler {
		h := autoscalingv2.HorizontalPodAutoscaler{}
		h.Namespace, h.Name = "shop", name
		h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: target}
		return h
	}
	owners := map[object]object{
		{"shop", "apps", "ReplicaSet", "web-1"}: {"shop", "apps", "Deployment", "web"},
		{"shop", "apps", "ReplicaSet", "way-1"}: {"shop", "argoproj.io", "Rollout", "way"},
		{"shop", "apps", "ReplicaSet", "a"}:     {"shop", "apps", "ReplicaSet", "b"},
		{"shop", "apps", "ReplicaSet", "b"}:     {"shop", "apps", "ReplicaSet", "a"},
	}
	autoscalers := []autoscalingv2.HorizontalPodAutoscaler{
		autoscaler("web", "apps/v1", "Deployment", "web"), autoscaler("also-web", "apps/v1beta9", "Deployment", "web"),
		autoscaler("way", "argoproj.io/v1alpha1", "Rollout", "way"), autoscaler("old", "v1", "ReplicationController", "old"),
	}
	for pod, want := range map[string]string{
		`{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, controller: true}`:        "also-web",
		`{apiVersion: apps/v1, kind: ReplicaSet, name: way-1, uid: u, controller: true}`:        "way",
		`{apiVersion: v1, kind: ReplicationController, name: old, uid: u, controller: true}`:    "old",
		`{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u}`:                          "",
		`{apiVersion: apps/v1, kind: ReplicaSet, name: web-2, uid: u, controller: true}`:        "",
		`{apiVersion: apps/v1, kind: ReplicaSet, name: a, uid: u, controller: true}`:            "",
		`{apiVersion: other.example/v1, kind: Deployment, name: web, uid: u, controller: true}`: "",
	} {
		for _, order := range []func([]autoscalingv2.HorizontalPodAutoscaler){func([]autoscalingv2.HorizontalPodAutoscaler) {}, slices.Reverse[[]autoscalingv2.HorizontalPodAutoscaler]} {
			order(autoscalers)
			r := newRelations(autoscalers, nil)
			maps.Copy(r.owners, owners)
			got := ""
			if h := r.autoscalerOf(read[corev1.Pod](t, "metadata: {namespace: shop, ownerReferences: ["+pod+"]}")); h != nil {
				got = h.Name
			}
			if got != want {
				t.Errorf("%s: %s, want %s", pod, strconv.Quote(got), strconv.Quote(want))
			}
		}
	}
}
