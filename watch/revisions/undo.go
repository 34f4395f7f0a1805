package revisions

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// keptAnnotations of a Deployment remain in a rollback; all others are replaced by the
// ReplicaSet's.
var keptAnnotations = map[string]bool{
	"kubectl.kubernetes.io/last-applied-configuration": true,
	revisionAnnotation:                          true,
	historyAnnotation:                           true,
	"deployment.kubernetes.io/desired-replicas": true,
	"deployment.kubernetes.io/max-replicas":     true,
	"deprecated.deployment.rollback.to":         true,
}

// Undo returns what `kubectl rollout undo --to-revision` would send, and its changes to
// the object. Zero means the revision before the newest. It returns an error if kubectl
// would.
func (h *History) Undo(to int64) (state.RevisionUndo, error) {
	undo := state.RevisionUndo{Object: h.ref(), ObjectKind: h.target.Kind, To: to}
	if !h.isDeployment() && !h.isStatefulSet() && !h.isDaemonSet() {
		return undo, fmt.Errorf("kubectl rollout undo supports Deployments, StatefulSets and DaemonSets, not %s", h.target.Resource.GroupResource())
	}
	if to == 0 {
		items := h.List().Items
		if len(items) < 2 {
			return undo, fmt.Errorf("%s %s has no previous revision", h.target.Kind, where(h.target))
		}
		undo.To = items[len(items)-2].Revision
	}
	record, today, err := h.find(undo.To)
	if err != nil {
		return undo, err
	}
	if today != undo.To {
		return undo, fmt.Errorf("revision %d became revision %d in a rollback: use that number", undo.To, today)
	}
	if h.isDeployment() {
		return h.undoDeployment(undo, record)
	}
	return h.undoByData(undo, record)
}

func (h *History) undoDeployment(undo state.RevisionUndo, record *unstructured.Unstructured) (state.RevisionUndo, error) {
	if paused, _, _ := unstructured.NestedBool(h.object.Object, "spec", "paused"); paused {
		return undo, fmt.Errorf("kubectl rollout undo fails while Deployment %s is paused: resume it first with 'kubectl rollout resume'", where(h.target))
	}
	template := h.template(record)
	if same(template, h.liveTemplate()) {
		return skipped(undo), nil
	}
	annotations := map[string]any{}
	for name, value := range h.object.GetAnnotations() {
		if keptAnnotations[name] {
			annotations[name] = value
		}
	}
	for name, value := range record.GetAnnotations() {
		if !keptAnnotations[name] {
			annotations[name] = value
		}
	}
	undo.PatchType = string(types.JSONPatchType)
	undo.Patch = []any{
		map[string]any{"op": "replace", "path": "/spec/template", "value": template},
		map[string]any{"op": "replace", "path": "/metadata/annotations", "value": annotations},
	}
	after := copyOf(h.object)
	if err := unstructured.SetNestedMap(after, template, "spec", "template"); err != nil {
		return undo, fmt.Errorf("set the template: %w", err)
	}
	if err := unstructured.SetNestedMap(after, annotations, "metadata", "annotations"); err != nil {
		return undo, fmt.Errorf("set the annotations: %w", err)
	}
	items := h.List().Items
	undo.Remarks = append(undo.Remarks, fmt.Sprintf("ReplicaSet %s becomes revision %d", record.GetName(), items[len(items)-1].Revision+1))
	return h.finish(undo, after), nil
}

// undoByData applies the ControllerRevision's data, a strategic merge patch.
func (h *History) undoByData(undo state.RevisionUndo, record *unstructured.Unstructured) (state.RevisionUndo, error) {
	data, _, _ := unstructured.NestedMap(record.Object, "data")
	if same(h.template(record), h.liveTemplate()) {
		return skipped(undo), nil
	}
	undo.PatchType, undo.Patch = string(types.StrategicMergePatchType), data
	var schema any = &appsv1.StatefulSet{}
	if h.isDaemonSet() {
		schema = &appsv1.DaemonSet{}
	}
	before, err := json.Marshal(h.object.Object)
	if err != nil {
		return undo, err
	}
	patch, err := json.Marshal(data)
	if err != nil {
		return undo, err
	}
	patched, err := strategicpatch.StrategicMergePatch(before, patch, schema)
	if err != nil {
		return undo, fmt.Errorf("apply the data of ControllerRevision %s: %w", record.GetName(), err)
	}
	var after unstructured.Unstructured
	if err := after.UnmarshalJSON(patched); err != nil {
		return undo, fmt.Errorf("apply the data of ControllerRevision %s: %w", record.GetName(), err)
	}
	list := h.List()
	if list.Strategy == "OnDelete" {
		undo.Remarks = append(undo.Remarks, "the strategy is OnDelete: pods get the old template only after they are deleted")
	}
	if p := list.Partition; p != nil && *p > 0 {
		undo.Remarks = append(undo.Remarks, fmt.Sprintf("partition %d: pods with an ordinal below %d are not updated", *p, *p))
	}
	return h.finish(undo, after.Object), nil
}

func skipped(undo state.RevisionUndo) state.RevisionUndo {
	undo.Remarks = append(undo.Remarks, fmt.Sprintf("the current template matches revision %d already: kubectl skips the rollback", undo.To))
	return undo
}

func (h *History) finish(undo state.RevisionUndo, after map[string]any) state.RevisionUndo {
	undo.Changes = redact.Diff(h.ref(), h.object.Object, after, redact.DiffOptions{MaxValue: maxValue})
	undo.HasChanges = len(undo.Changes) > 0
	undo.Remarks = append(undo.Remarks, "only the change of the object is shown, not the changes that controllers make to the pods")
	return undo
}
