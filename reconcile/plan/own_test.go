package plan

import (
	"slices"
	"strings"
	"testing"
)

// made puts an object on the server as the simulation, or a controller, makes it.
func (s *fakeServer) made(t *testing.T, path, manifest, managers string) {
	t.Helper()
	content := mustParse(t, manifest)[0].Object
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(path, content)
	var fields []any
	for _, m := range strings.Fields(managers) {
		manager, operation, _ := strings.Cut(m, "/")
		fields = append(fields, map[string]any{"manager": manager, "operation": operation})
	}
	content["metadata"].(map[string]any)["managedFields"] = fields
}

const standardClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: simulated.kctl-ctrl.dev
`

func TestTheSandboxsOwnYields(t *testing.T) {
	server, cluster := newFakeServer(t)
	server.made(t, "storageclasses/standard", standardClass, "simulated-provisioner/Update")
	server.made(t, "nodes/node-1", "{apiVersion: v1, kind: Node, metadata: {name: node-1}}", "simulated-nodes/Update kctl-ctrl/Update")
	set := mustParse(t, `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: ebs.csi.aws.com
---
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {disk: ssd}}
`)
	applied, err := cluster.Apply(t.Context(), set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := outcomes(applied)
	slices.Sort(got)
	wantLines(t, "outcomes", got, "created Node node-1\ncreated StorageClass standard")
	if slices.Contains(server.writes, "delete nodes/node-1") || !slices.Contains(server.writes, "delete storageclasses/standard") {
		t.Errorf("writes: %q", server.writes)
	}
	// What was the sandbox's own was not there before, for a plan.
	start, end := State{}, State{}
	for path, o := range server.objects {
		if strings.HasPrefix(path, "nodes/") {
			start.Objects = append(start.Objects, Captured{Resource: "nodes", Content: o})
			end.Objects = append(end.Objects, Captured{Resource: "nodes", Content: o})
		}
	}
	p := Compare(Input{Start: start, End: end, After: applied})
	if len(p.Roots) == 0 || p.Roots[0].Name != "node-1" || p.Roots[0].Action != "created" {
		t.Errorf("roots: %+v", p.Roots)
	}
}

func TestASetsDefaultClassReplacesTheSandboxs(t *testing.T) {
	server, cluster := newFakeServer(t)
	server.made(t, "storageclasses/standard", standardClass, "simulated-provisioner/Update")
	if _, err := cluster.Apply(t.Context(), mustParse(t, strings.Replace(standardClass, "name: standard", "name: gp3", 1)), Options{}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(server.writes, "merge storageclasses/standard") {
		t.Errorf("two classes are the default; writes: %q", server.writes)
	}
}

func TestWhatAControlPlaneMaintainsIsNotSent(t *testing.T) {
	server, cluster := newFakeServer(t)
	set := mustParse(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt}
data: {ca.crt: another}
---
apiVersion: v1
kind: Service
metadata: {name: kubernetes, namespace: default}
spec: {clusterIP: 10.96.0.1}
`)
	applied, err := cluster.Apply(t.Context(), set, Options{NoServiceAccountWait: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range server.writes {
		if !strings.HasPrefix(write, "apply namespaces/") {
			t.Errorf("sent: %s", write)
		}
	}
	if p := Compare(Input{After: applied}); p.HasChanges && len(p.FieldDiffs) > 0 || p.Summary.Create > 1 || p.Summary.Change > 0 {
		t.Errorf("plan: %+v", p)
	}
}

func TestSpecReplicasIsLeftToTheAutoscaler(t *testing.T) {
	server, cluster := newFakeServer(t)
	set := mustParse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {minReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`)
	if _, err := cluster.Apply(t.Context(), set, Options{}); err != nil {
		t.Fatal(err)
	}
	server.objects["deployments/web/shop"]["spec"].(map[string]any)["replicas"] = 4.0 // as the controller does
	applied, err := cluster.Apply(t.Context(), set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range applied.Results {
		if r.Mapping.Resource.Resource == "deployments" && (r.Action != Unchanged || !strings.Contains(r.Note, "left to HorizontalPodAutoscaler web")) {
			t.Errorf("the Deployment is %s: %s", r.Action, r.Note)
		}
	}
	end := State{}
	for path, o := range server.objects {
		end.Objects = append(end.Objects, Captured{Resource: strings.Split(path, "/")[0], Content: o})
	}
	p := Compare(Input{Start: end, End: end, After: applied})
	if warnings := strings.Join(p.Warnings, "\n"); p.HasChanges || !strings.Contains(warnings, "resets spec.replicas of Deployment shop/web to 2, which HorizontalPodAutoscaler web also sets (to 4 here)") {
		t.Errorf("changes: %t; warnings: %q", p.HasChanges, p.Warnings)
	}
}

func TestObjectsWhoseDefinitionIsRemoved(t *testing.T) {
	definition := mustParse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com, uid: a}
spec: {group: example.com, names: {kind: Backup}}
`)[0].Object
	backup := mustParse(t, "{apiVersion: example.com/v1, kind: Backup, metadata: {name: nightly, namespace: shop, uid: b}}")[0].Object
	start := State{Objects: []Captured{{Content: definition}, {Content: backup}}}
	in := Input{
		Start:   start,
		Before:  &Applied{Results: []Result{{Action: Created, Manifest: definition, After: definition}, {Action: Created, Manifest: backup, After: backup}}},
		After:   &Applied{Results: []Result{{Action: Unchanged, Manifest: backup, Before: backup, After: backup}}},
		Removed: &Applied{Results: []Result{{Action: Deleted, Manifest: definition, Before: definition}}},
	}
	const want = "CustomResourceDefinition backups.example.com is no longer in the manifests, but objects of its kind are: " +
		"they are deleted with it, and cannot be applied again (Backup shop/nightly)"
	if p := Compare(in); !slices.Contains(p.Warnings, want) {
		t.Errorf("warnings: %q", p.Warnings)
	}
	in.After = &Applied{}
	if p := Compare(in); len(p.Warnings) > 0 {
		t.Errorf("with both removed: %q", p.Warnings)
	}
}
