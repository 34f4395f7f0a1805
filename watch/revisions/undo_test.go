package revisions

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestUndoDeployment(t *testing.T) {
	h := deploymentHistory(t, "web:3", "")
	undo, err := h.Undo(0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`metadata.annotations.kept-by-nobody: "x" → `,
		`metadata.annotations["kubernetes.io/change-cause"]: "third" → "to web:1"`,
		`spec.template.spec.containers[name=web].image: "web:3" → "web:1"`,
	}
	if got := texts(undo.Changes); undo.To != 4 || !slices.Equal(got, want) {
		t.Errorf("to %d: %q\nwant %q", undo.To, got, want)
	}
	patch, err := json.Marshal(undo.Patch)
	if err != nil {
		t.Fatal(err)
	}
	// The hash label is the Deployment controller's, and the revision its own.
	if text := string(patch); strings.Contains(text, templateHash) || !strings.Contains(text, `"deployment.kubernetes.io/revision":"5"`) {
		t.Errorf("patch %s", text)
	}
	if !slices.Contains(undo.Remarks, "ReplicaSet web-web1 becomes revision 6") {
		t.Errorf("remarks %q", undo.Remarks)
	}
	if h.object.GetAnnotations()["kubernetes.io/change-cause"] != "third" {
		t.Error("the object was modified")
	}
}

func TestUndoStatefulSet(t *testing.T) {
	undo, err := statefulSetHistory(t, 2).Undo(1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`spec.template.spec.containers[name=db].env[name=MODE].name: "MODE" → `,
		`spec.template.spec.containers[name=db].env[name=MODE].value: "new" → `,
		`spec.template.spec.containers[name=db].image: "db:2" → "db:1"`,
	}
	if got := texts(undo.Changes); !slices.Equal(got, want) || undo.PatchType != string(types.StrategicMergePatchType) {
		t.Errorf("%s %q\nwant %q", undo.PatchType, got, want)
	}
	if !strings.Contains(strings.Join(undo.Remarks, "; "), "ordinal below 2") {
		t.Errorf("remarks %q", undo.Remarks)
	}
}

func TestUndoRefusals(t *testing.T) {
	single := statefulSetHistory(t, 0)
	single.records = single.records[:1]
	for name, c := range map[string]struct {
		history *History
		to      int64
		want    string
	}{
		"paused":          {deploymentHistory(t, "web:3", "\n  paused: true"), 3, "is paused"},
		"none such":       {deploymentHistory(t, "web:3", ""), 9, "has no revision 9"},
		"a former number": {deploymentHistory(t, "web:3", ""), 1, "revision 1 became revision 4"},
		"nothing before":  {single, 0, "no previous revision"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.history.Undo(c.to); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	undo, err := deploymentHistory(t, "web:3", "").Undo(5)
	if err != nil || undo.HasChanges || undo.Patch != nil || !strings.Contains(undo.Remarks[0], "skips") {
		t.Errorf("%+v, %v", undo, err)
	}
}
