package revisions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out unstructured.Unstructured
	if err := out.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return &out
}

func controller(uid string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{UID: types.UID(uid), Controller: &yes}}
}

func podOf(name, owner, label, value string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, OwnerReferences: controller(owner), Labels: map[string]string{label: value},
	}}
}

// deployment has image as its template's.
func deployment(t *testing.T, image, extra string) *unstructured.Unstructured {
	return object(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: web-uid
  generation: 3
  annotations: {deployment.kubernetes.io/revision: "5", kubernetes.io/change-cause: third, kept-by-nobody: x}
spec:
  replicas: 3
  strategy: {type: RollingUpdate}%s
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: %q}]
status: {observedGeneration: 3}`, extra, image))
}

func replicaSet(t *testing.T, image, revision, former string) *unstructured.Unstructured {
	hash := strings.ReplaceAll(image, ":", "")
	rs := object(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-%[1]s
  namespace: shop
  uid: rs-%[1]s
  creationTimestamp: "2026-11-21T03:00:00Z"
  labels: {app: web, pod-template-hash: %[1]s}
  annotations: {deployment.kubernetes.io/revision: %[2]q, deployment.kubernetes.io/revision-history: %[3]q, kubernetes.io/change-cause: to %[4]s, deployment.kubernetes.io/desired-replicas: "3"}
spec:
  template:
    metadata: {labels: {app: web, pod-template-hash: %[1]s}}
    spec:
      containers: [{name: web, image: %[4]q}]`, hash, revision, former, image))
	rs.SetOwnerReferences(controller("web-uid"))
	return rs
}

func deploymentHistory(t *testing.T, live, extra string) *History {
	return &History{
		target: Target{Resource: deployments.resource, Kind: "Deployment", Namespace: "shop", Name: "web"},
		object: deployment(t, live, extra), podsKnown: true,
		records: []*unstructured.Unstructured{
			replicaSet(t, "web:3", "5", ""), replicaSet(t, "web:1", "4", "1,2"), replicaSet(t, "web:2", "3", ""),
		},
		pods: []*metav1.PartialObjectMetadata{
			podOf("b", "rs-web3", templateHash, "web3"), podOf("a", "rs-web3", templateHash, "web3"),
			podOf("c", "rs-web1", templateHash, "web1"), podOf("stranger", "another", templateHash, "web1"),
		},
	}
}

func statefulSetHistory(t *testing.T, partition int) *History {
	set := object(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, uid: db-uid, generation: 2}
spec:
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: %d}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:2", env: [{name: MODE, value: new}]}]}
status: {observedGeneration: 2, currentRevision: db-aaa, updateRevision: db-bbb}`, partition))
	record := func(hash, image string, revision int) *unstructured.Unstructured {
		r := object(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: db-%[1]s, namespace: shop, uid: cr-%[1]s, labels: {app: db, controller.kubernetes.io/hash: %[1]s}}
revision: %[3]d
data:
  spec:
    template:
      $patch: replace
      metadata: {labels: {app: db}}
      spec: {containers: [{name: db, image: %[2]q}]}`, hash, image, revision))
		r.SetOwnerReferences(controller("db-uid"))
		return r
	}
	return &History{
		target: Target{Resource: statefulSets.resource, Kind: "StatefulSet", Namespace: "shop", Name: "db"},
		object: set, podsKnown: true,
		records: []*unstructured.Unstructured{record("bbb", "db:2", 2), record("aaa", "db:1", 1)},
		pods: []*metav1.PartialObjectMetadata{
			podOf("db-0", "db-uid", controllerHash, "db-aaa"), podOf("db-1", "db-uid", controllerHash, "db-bbb"),
			podOf("db-2", "db-uid", controllerHash, "db-zzz"), podOf("db-x", "other-uid", controllerHash, "db-aaa"),
		},
	}
}

// rows are the list's, as short text.
func rows(list state.RevisionList) []string {
	var out []string
	for _, r := range list.Items {
		text := fmt.Sprintf("%d %s %v pods=%v", r.Revision, r.Hash, r.Images, r.Pods)
		if r.Current {
			text += " current"
		}
		if r.Update {
			text += " update"
		}
		out = append(out, text)
	}
	return out
}

func checkRows(t *testing.T, list state.RevisionList, want ...string) {
	t.Helper()
	if got := rows(list); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestListDeployment(t *testing.T) {
	list := deploymentHistory(t, "web:3", "").List()
	checkRows(t, list,
		"3 web2 [web:2] pods=[]", "4 web1 [web:1] pods=[c] current", "5 web3 [web:3] pods=[a b] update")
	if !slices.Equal(list.Items[1].Former, []int64{1, 2}) || list.Items[1].ChangeCause != "to web:1" {
		t.Errorf("%+v", list.Items[1])
	}
	if len(list.Remarks) > 0 {
		t.Errorf("remarks: %q", list.Remarks)
	}

	h := deploymentHistory(t, "web:3", "")
	h.pods = h.pods[:2]
	checkRows(t, h.List(), "3 web2 [web:2] pods=[]", "4 web1 [web:1] pods=[]", "5 web3 [web:3] pods=[a b] current update")

	// Without pods nothing is said about a rollout under way.
	h.pods, h.podsKnown = nil, false
	checkRows(t, h.List(), "3 web2 [web:2] pods=[]", "4 web1 [web:1] pods=[]", "5 web3 [web:3] pods=[] current update")
}

func TestListDeploymentRemarks(t *testing.T) {
	h := deploymentHistory(t, "web:9", "\n  paused: true")
	h.object.SetGeneration(4)
	fresh := replicaSet(t, "web:8", "", "")
	h.records = append(h.records, fresh)
	list := h.List()
	for _, want := range []string{"has no revision number yet", "has not observed the last change", "is paused", "no revision matches the current template"} {
		if !slices.ContainsFunc(list.Remarks, func(r string) bool { return strings.Contains(r, want) }) {
			t.Errorf("no remark says %q: %q", want, list.Remarks)
		}
	}
	if slices.ContainsFunc(list.Items, func(r state.Revision) bool { return r.Update }) {
		t.Errorf("an update is marked: %q", rows(list))
	}
}

func TestListStatefulSet(t *testing.T) {
	list := statefulSetHistory(t, 2).List()
	checkRows(t, list, "1 aaa [db:1] pods=[db-0] current", "2 bbb [db:2] pods=[db-1] update")
	want := []string{
		"partition 2: pods with an ordinal below 2 stay at the current revision",
		`pods running "db-zzz", whose revision no longer exists: 1`,
	}
	if !slices.Equal(list.Remarks, want) {
		t.Errorf("remarks: %q", list.Remarks)
	}
	if list.Partition == nil || *list.Partition != 2 {
		t.Errorf("partition: %v", list.Partition)
	}
}

// Pods without a revision's label are no remark where there are no revisions: a
// Job's have none.
func TestListUnlabelledPods(t *testing.T) {
	h := statefulSetHistory(t, 0)
	for i := range h.pods {
		h.pods[i].SetLabels(nil)
	}
	if list := h.List(); !slices.Equal(list.Remarks, []string{"pods without a revision label: 3"}) {
		t.Errorf("remarks: %q", list.Remarks)
	}
	h.records = nil
	if list := h.List(); len(list.Remarks) > 0 {
		t.Errorf("remarks without revisions: %q", list.Remarks)
	}
}

// A DaemonSet's pods are labelled with the hash alone, and its status names no
// revision: the newest that equals the template is the update.
func TestListDaemonSet(t *testing.T) {
	h := statefulSetHistory(t, 0)
	h.target = Target{Resource: daemonSets.resource, Kind: "DaemonSet", Namespace: "shop", Name: "db"}
	unstructured.RemoveNestedField(h.object.Object, "status")
	if err := unstructured.SetNestedMap(h.object.Object, h.template(h.records[0]), "spec", "template"); err != nil {
		t.Fatal(err)
	}
	h.pods = []*metav1.PartialObjectMetadata{podOf("x", "db-uid", controllerHash, "aaa"), podOf("y", "db-uid", controllerHash, "bbb")}
	checkRows(t, h.List(), "1 aaa [db:1] pods=[x] current", "2 bbb [db:2] pods=[y] update")
}

func TestSame(t *testing.T) {
	template := func(text string) map[string]any {
		return object(t, "kind: PodTemplate\napiVersion: v1\ntemplate: "+text).Object["template"].(map[string]any)
	}
	base := template(`{metadata: {labels: {a: b}}, spec: {containers: [{name: a}]}}`)
	for text, want := range map[string]bool{
		`{metadata: {labels: {a: b}, creationTimestamp: null}, spec: {initContainers: [], containers: [{name: a}]}}`: true,
		`{metadata: {labels: {a: c}}, spec: {containers: [{name: a}]}}`:                                              false,
		`{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: x}]}}`:                                    false,
	} {
		if got := same(base, template(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func texts(changes []state.FieldChange) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.Path+": "+c.Old+" → "+c.New)
	}
	return out
}

func TestDiff(t *testing.T) {
	const image = "spec.template.spec.containers[name=web].image: "
	for name, c := range map[string]struct {
		history  *History
		from, to string
		want     []string
		note     string
		err      string
	}{
		"two revisions": {deploymentHistory(t, "web:3", ""), "3", "5", []string{image + `"web:2" → "web:3"`}, "", ""},
		"and back":      {deploymentHistory(t, "web:3", ""), "5", "3", []string{image + `"web:3" → "web:2"`}, "", ""},
		"with live":     {deploymentHistory(t, "web:9", ""), "4", "live", []string{image + `"web:1" → "web:9"`}, "", ""},
		"equal":         {deploymentHistory(t, "web:3", ""), "5", "live", nil, "", ""},
		"a former number": {deploymentHistory(t, "web:3", ""), "1", "3", []string{image + `"web:1" → "web:2"`},
			"revision 1 became revision 4 in a rollback", ""},
		"none such": {deploymentHistory(t, "web:3", ""), "7", "3", nil, "", "Deployment web in namespace shop has no revision 7: it has 3, 4, 5"},
		"data": {statefulSetHistory(t, 0), "1", "live", []string{
			`spec.template.spec.containers[name=db].env[name=MODE].name:  → "MODE"`,
			`spec.template.spec.containers[name=db].env[name=MODE].value:  → "new"`,
			`spec.template.spec.containers[name=db].image: "db:1" → "db:2"`,
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			diff, err := c.history.Diff(c.from, c.to)
			if err != nil || c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if got := texts(diff.Changes); !slices.Equal(got, c.want) || diff.HasChanges != (len(c.want) > 0) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if got := strings.Join(diff.Remarks, "; "); got != c.note {
				t.Errorf("remarks %q, want %q", got, c.note)
			}
		})
	}
}

// A custom type may record more than the template.
func TestDiffCustomType(t *testing.T) {
	h := statefulSetHistory(t, 0)
	h.target = Target{Resource: schema.GroupVersionResource{Group: "apps.example.com", Version: "v1", Resource: "clonesets"}, Kind: "CloneSet", Namespace: "shop", Name: "db"}
	for i, record := range h.records {
		if err := unstructured.SetNestedField(record.Object, fmt.Sprintf("%dGi", 10-i), "data", "spec", "storage"); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedField(h.object.Object, "20Gi", "spec", "storage"); err != nil {
		t.Fatal(err)
	}
	diff, err := h.Diff("2", Live)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(diff.Changes); !slices.Contains(got, `spec.storage: "10Gi" → "20Gi"`) {
		t.Errorf("%q", got)
	}
	if _, err := h.Undo(1); err == nil || !strings.Contains(err.Error(), "clonesets.apps.example.com") {
		t.Errorf("undo of a custom type: %v", err)
	}
}

func TestParseRange(t *testing.T) {
	for text, want := range map[string]string{
		"3..4": "3 4", "3": "3 live", "3..live": "3 live", "live..3": "live 3", "": "", "a": "", "3..": "", "-1": "", "1..2..3": "",
	} {
		from, to, err := ParseRange(text)
		if got := from + " " + to; (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestWellKnown(t *testing.T) {
	for word, want := range map[string]string{
		"deploy": "Deployment", "StatefulSet": "StatefulSet", "daemonsets.apps": "DaemonSet", "deployments.v1.apps": "Deployment",
		"pods": "", "deployments.extensions": "", "": "",
	} {
		if _, kind, known := WellKnown(word); kind != want || known != (want != "") {
			t.Errorf("%q: %q", word, kind)
		}
	}
}

func TestChanges(t *testing.T) {
	rev := func(name string, change ...func(*state.Revision)) state.Revision {
		r := state.Revision{Revision: 1, Object: state.Ref{Resource: "replicasets", Name: name}, Pods: []string{"a"}, PodCount: 1}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	old := state.RevisionList{Items: []state.Revision{rev("gone"), rev("same"), rev("pods"), rev("other"), rev("update"), rev("current"), rev("number"), rev("mark", func(r *state.Revision) { r.Current = true })}}
	new := state.RevisionList{Items: []state.Revision{
		rev("same"), rev("pods", func(r *state.Revision) { r.PodCount = 3 }), rev("other", func(r *state.Revision) { r.Pods = []string{"b"} }),
		rev("update", func(r *state.Revision) { r.Update = true }), rev("current", func(r *state.Revision) { r.Current = true }),
		rev("number", func(r *state.Revision) { r.Revision = 7 }), rev("mark"), rev("fresh"),
	}}
	var got []string
	for _, c := range Changes(old, new) {
		got = append(got, c.Revision.Object.Name+": "+c.What)
	}
	want := []string{
		"gone: gone", "pods: 3 pods, was 1", "other: pods replaced", "update: now the update revision", "current: now the current revision",
		"number: was revision 1", "mark: status changed", "fresh: new",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
