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
