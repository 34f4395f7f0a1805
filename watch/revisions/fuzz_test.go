package revisions

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FuzzHistory lists, compares and undoes revisions of any objects, which are the
// cluster's.
func FuzzHistory(f *testing.F) {
	const (
		set    = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"replicas":2,"updateStrategy":{"rollingUpdate":{"partition":1}},"template":{"spec":{"containers":[{"image":"a"}]}}},"status":{"updateRevision":"r1"}}`
		record = `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r1"},"revision":3,"data":{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"image":"b"}]}}}}}`
	)
	f.Add("statefulsets", set, record, "1", int64(3))
	f.Add("daemonsets", `{"kind":"DaemonSet","spec":7,"metadata":{"annotations":[]}}`, `{"revision":"x","data":[]}`, "current", int64(-1))
	f.Add("deployments", `{"kind":"Deployment","metadata":{"annotations":{"deployment.kubernetes.io/revision":"9"}},"spec":{"template":{"spec":{"containers":[1,{"image":2}]}}}}`,
		`{"kind":"ReplicaSet","metadata":{"annotations":{"deployment.kubernetes.io/revision":"99999999999999999999","deployment.kubernetes.io/revision-history":"1,,x"}},"spec":{"template":null}}`, "", int64(0))
	f.Add("widgets", `{}`, `{"data":{"$patch":"delete"}}`, "0", int64(1))
	f.Fuzz(func(t *testing.T, resource, objectText, recordText, name string, revision int64) {
		o, r := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if json.Unmarshal([]byte(objectText), &o.Object) != nil || json.Unmarshal([]byte(recordText), &r.Object) != nil || o.Object == nil || r.Object == nil {
			return
		}
		h := &History{
			target: Target{Resource: apps(resource), Kind: o.GetKind(), Namespace: "shop", Name: name}, object: o, podsKnown: true,
			records: []*unstructured.Unstructured{r, r.DeepCopy()},
		}
		list := h.List()
		if _, err := json.Marshal(list); err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{"", "live", name} {
			if diff, err := h.Diff(name, to); err == nil {
				if _, err := json.Marshal(diff); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, to := range []int64{0, revision} {
			if undo, err := h.Undo(to); err == nil {
				if _, err := json.Marshal(undo); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
