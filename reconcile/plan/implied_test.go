package plan

import (
	"strings"
	"testing"
)

const claimsOfClasses = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: fast, namespace: shop}
spec: {storageClassName: fast}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: any, namespace: shop}
spec: {}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: none, namespace: shop}
spec: {storageClassName: ""}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: bound, namespace: shop}
spec: {storageClassName: old, volumeName: disk-2}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: by-hand, namespace: shop}
spec: {storageClassName: manual}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {storageClassName: manual}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast}}, {metadata: {name: log}, spec: {storageClassName: slow}}]
  template: {spec: {volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: scratch}}}}, {name: x, emptyDir: {}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {volumes: [{name: x, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: own}}}}]}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: own}
provisioner: shop.example/disks
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
`

// Claims bind here as they would where the administrators have made the classes.
func TestImpliedClasses(t *testing.T) {
	s, cluster := newFakeServer(t)
	s.store("storageclasses/standard", map[string]any{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata":    map[string]any{"name": "standard", "annotations": map[string]any{defaultClassAnnotation: "true"}},
		"provisioner": "simulated.example", "volumeBindingMode": "WaitForFirstConsumer",
	})
	s.store("storageclasses/scratch", map[string]any{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": map[string]any{"name": "scratch"}, "provisioner": "other.example",
	})
	applied, err := cluster.Apply(t.Context(), mustParse(t, claimsOfClasses), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var implied []string
	for _, r := range applied.Results {
		if r.Action == Implied {
			implied = append(implied, describe(r.object())+": "+r.Note)
		}
	}
	wantLines(t, "implied", implied, `
StorageClass fast: implied by the claims that name it: provisions as standard does here
StorageClass slow: implied by the claims that name it: provisions as standard does here
`)
	class := s.objects["storageclasses/fast"]
	if class["provisioner"] != "simulated.example" || class["volumeBindingMode"] != "WaitForFirstConsumer" {
		t.Errorf("class %v", class)
	}
	if metadata := class["metadata"].(map[string]any); metadata["annotations"] != nil {
		t.Errorf("a second default class: %v", metadata)
	}
	before := strings.Join(s.writes, "\n")
	if strings.Index(before, "apply storageclasses/slow") > strings.Index(before, "apply persistentvolumeclaims/") {
		t.Errorf("claims came before their classes:\n%s", before)
	}

	// Once more, nothing is implied: they are there.
	again, err := cluster.Apply(t.Context(), mustParse(t, claimsOfClasses), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range again.Results {
		if r.Action == Implied {
			t.Errorf("implied again: %s", describe(r.object()))
		}
	}
}

// Where the cluster has no default class, nothing is known of how a class would
// provision.
func TestNoClassIsImpliedWithoutADefault(t *testing.T) {
	_, cluster := newFakeServer(t)
	applied, err := cluster.Apply(t.Context(), mustParse(t, claimsOfClasses), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range applied.Results {
		if r.Action == Implied {
			t.Errorf("implied %s", describe(r.object()))
		}
	}
}

const podsOfClasses = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {priorityClassName: gold}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: shop}
spec: {suspend: true, jobTemplate: {spec: {template: {spec: {priorityClassName: gold, runtimeClassName: gvisor.v2}}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec: {priorityClassName: system-node-critical, runtimeClassName: own}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: own}
handler: own
`

// Pods that name a class are not rejected here where the cluster has it from its
// administrators; what is taken for it is said.
func TestImpliedPodClasses(t *testing.T) {
	s, cluster := newFakeServer(t)
	s.store("priorityclasses/system-node-critical", map[string]any{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": "system-node-critical"}, "value": 2000001000.0,
	})
	applied, err := cluster.Apply(t.Context(), mustParse(t, podsOfClasses), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var implied []string
	for _, r := range applied.Results {
		if r.Action == Implied && r.Mapping.Resource.Resource != "namespaces" {
			implied = append(implied, describe(r.object())+": "+r.Note)
		}
	}
	wantLines(t, "implied", implied, `
PriorityClass gold: implied by the pods that name it: value unknown, 0 assumed
RuntimeClass gvisor.v2: implied by the pods that name it: overhead and node selector unknown, none assumed
`)
	if class := s.objects["runtimeclasses/gvisor.v2"]; class["handler"] != "gvisor-v2" {
		t.Errorf("class %v", class)
	}
	before := strings.Join(s.writes, "\n")
	if strings.Index(before, "apply priorityclasses/gold") > strings.Index(before, "apply deployments/") {
		t.Errorf("pods came before their classes:\n%s", before)
	}
	for _, in := range []Input{{After: applied}, {Before: applied, After: &Applied{}}} {
		remarks := strings.Join(Compare(in).NotSimulated, "\n")
		for _, want := range []string{
			"implied: PriorityClasses that no manifest defines, value unknown, 0 assumed (gold)",
			"implied: RuntimeClasses that no manifest defines, overhead and node selector unknown, none assumed (gvisor.v2)",
		} {
			if !strings.Contains(remarks, want) {
				t.Errorf("%q is not in %s", want, remarks)
			}
		}
	}

	// What a set brings takes the place of what was made up, whatever cannot be changed in it.
	mine := mustParse(t, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: gold}, value: 1000}")
	again, err := cluster.Apply(t.Context(), mine, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := again.Results[0]; r.Action != Created || r.Before != nil || len(again.Displaced) != 1 {
		t.Errorf("the set's own class: %+v", r)
	}
}
