package revisions

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Names that upstream's controllers write on revisions and pods (k8s.io/kubernetes
// v1.37.1 pkg/controller/{deployment/util,history,statefulset,daemon}).
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	causeAnnotation    = "kubernetes.io/change-cause"
	templateHash       = "pod-template-hash"
	controllerHash     = "controller-revision-hash"
	historyHash        = "controller.kubernetes.io/hash"
)

// History is an object with its revisions and pods at one time. Its methods do not
// modify it.
type History struct {
	// PodsError is why the pods are unknown, if they are.
	PodsError error

	target    Target
	object    *unstructured.Unstructured
	records   []*unstructured.Unstructured
	pods      []*metav1.PartialObjectMetadata
	podsKnown bool
	// versions are the resourceVersions from which to watch.
	versions map[string]string
}

func (h *History) isDeployment() bool {
	return h.target.Resource.GroupResource() == schema.GroupResource{Group: "apps", Resource: "deployments"}
}

func (h *History) isStatefulSet() bool {
	return h.target.Resource.GroupResource() == schema.GroupResource{Group: "apps", Resource: "statefulsets"}
}

func (h *History) isDaemonSet() bool {
	return h.target.Resource.GroupResource() == schema.GroupResource{Group: "apps", Resource: "daemonsets"}
}

// recordType is the type that stores the revisions.
func (h *History) recordType() schema.GroupVersionResource {
	if h.isDeployment() {
		return replicaSets
	}
	return controllerRevisions
}

func (h *History) ref() state.Ref {
	return state.Ref{
		Group: h.target.Resource.Group, Version: h.target.Resource.Version, Resource: h.target.Resource.Resource,
		Namespace: h.target.Namespace, Name: h.target.Name, UID: string(h.object.GetUID()),
	}
}

// List returns the history in the same form for all kinds.
func (h *History) List() state.RevisionList {
	list := state.RevisionList{
		Object: h.ref(), ObjectKind: h.target.Kind, PodsKnown: h.podsKnown, Items: []state.Revision{},
		Strategy: h.strategy(), Partition: h.partition(),
	}
	if h.isDeployment() {
		list.Paused, _, _ = unstructured.NestedBool(h.object.Object, "spec", "paused")
	}
	pods := h.podsByRecord()
	for _, record := range h.records {
		number, former, ok := h.number(record)
		if !ok {
			list.Remarks = append(list.Remarks, record.GetKind()+" "+record.GetName()+" has no revision number yet")
			continue
		}
		names := pods[record.GetName()]
		list.Items = append(list.Items, state.Revision{
			Revision: number, Former: former, Object: h.recordRef(record), Hash: hashOf(record),
			Created: record.GetCreationTimestamp().UTC(), ChangeCause: record.GetAnnotations()[causeAnnotation],
			Images: imagesOf(h.template(record)), Pods: names, PodCount: len(names),
		})
	}
	slices.SortStableFunc(list.Items, func(a, b state.Revision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), strings.Compare(a.Object.Name, b.Object.Name))
	})
	h.mark(list.Items)
	list.Remarks = append(list.Remarks, h.remarks(list, pods)...)
	return list
}

func (h *History) recordRef(record *unstructured.Unstructured) state.Ref {
	resource := h.recordType()
	return state.Ref{
		Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
		Namespace: record.GetNamespace(), Name: record.GetName(), UID: string(record.GetUID()),
	}
}

// number returns a record's revision and its former numbers.
func (h *History) number(record *unstructured.Unstructured) (number int64, former []int64, ok bool) {
	if !h.isDeployment() {
		number, ok, _ = unstructured.NestedInt64(record.Object, "revision")
		return number, nil, ok
	}
	annotations := record.GetAnnotations()
	number, err := strconv.ParseInt(annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0, nil, false
	}
	for text := range strings.SplitSeq(annotations[historyAnnotation], ",") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			former = append(former, n)
		}
	}
	return number, former, true
}

// hashOf is the label value of the record's pods, without the object's name.
func hashOf(record *unstructured.Unstructured) string {
	labels := record.GetLabels()
	return cmp.Or(labels[templateHash], labels[historyHash], labels[controllerHash])
}

// template is the record's pod template, without the label that the Deployment
// controller adds and without patch directives.
func (h *History) template(record *unstructured.Unstructured) map[string]any {
	fields := []string{"data", "spec", "template"}
	if h.isDeployment() {
		fields = fields[1:]
	}
	template, _, _ := unstructured.NestedMap(record.Object, fields...)
	delete(template, "$patch")
	unstructured.RemoveNestedField(template, "metadata", "labels", templateHash)
	return template
}

func (h *History) liveTemplate() map[string]any {
	template, _, _ := unstructured.NestedMap(h.object.Object, "spec", "template")
	return template
}

func imagesOf(template map[string]any) []string {
	var images []string
	for _, list := range []string{"initContainers", "containers"} {
		containers, _, _ := unstructured.NestedSlice(template, "spec", list)
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok {
				if image, ok := container["image"].(string); ok {
					images = append(images, image)
				}
			}
		}
	}
	return images
}

// same compares templates as upstream does: absent and empty are equal.
func same(a, b map[string]any) bool {
	var left, right corev1.PodTemplateSpec
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	if errors.Join(convert(a, &left), convert(b, &right)) != nil {
		return equality.Semantic.DeepEqual(a, b)
	}
	return equality.Semantic.DeepEqual(left, right)
}

// podsByRecord are the names of the pods by the name of their record; pods of a deleted
// record by the value of their label.
func (h *History) podsByRecord() map[string][]string {
	out := map[string][]string{}
	records := map[string]string{}
	for _, record := range h.records {
		if h.isDeployment() {
			records[string(record.GetUID())] = record.GetName()
			continue
		}
		// A StatefulSet labels its pods with the record's name, a DaemonSet with
		// its hash.
		records[record.GetName()] = record.GetName()
		if hash := hashOf(record); hash != "" {
			records[hash] = record.GetName()
		}
	}
	for _, pod := range h.pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			continue
		}
		run := string(owner.UID)
		if !h.isDeployment() {
			if owner.UID != h.object.GetUID() {
				continue
			}
			run = pod.Labels[controllerHash]
		} else if records[run] == "" {
			continue // another's pod that the selector happens to match
		}
		name := cmp.Or(records[run], run)
		out[name] = append(out[name], pod.Name)
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// mark sets Current and Update. A StatefulSet has both in its status. For the others,
// Update is the newest revision that equals their template; Current is the newest other
// revision with pods, or Update if there is none.
func (h *History) mark(items []state.Revision) {
	if h.isStatefulSet() {
		current, _, _ := unstructured.NestedString(h.object.Object, "status", "currentRevision")
		update, _, _ := unstructured.NestedString(h.object.Object, "status", "updateRevision")
		for i := range items {
			items[i].Current, items[i].Update = items[i].Object.Name == current, items[i].Object.Name == update
		}
		return
	}
	live := h.liveTemplate()
	update, current := -1, -1
	for i, item := range slices.Backward(items) {
		record := h.record(item.Object.Name)
		if update < 0 && same(h.template(record), live) {
			update = i
		} else if current < 0 && item.PodCount > 0 {
			current = i
		}
	}
	if update >= 0 {
		items[update].Update = true
		if current < 0 || !h.podsKnown {
			current = update
		}
	}
	if current >= 0 {
		items[current].Current = true
	}
}

func (h *History) record(name string) *unstructured.Unstructured {
	i := slices.IndexFunc(h.records, func(r *unstructured.Unstructured) bool { return r.GetName() == name })
	return h.records[i]
}

func (h *History) strategy() string {
	field := "updateStrategy"
	if h.isDeployment() {
		field = "strategy"
	}
	strategy, _, _ := unstructured.NestedString(h.object.Object, "spec", field, "type")
	return strategy
}

func (h *History) partition() *int64 {
	partition, found, _ := unstructured.NestedInt64(h.object.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if !found || !h.isStatefulSet() {
		return nil
	}
	return &partition
}

// remarks describe what the rows do not show.
func (h *History) remarks(list state.RevisionList, pods map[string][]string) []string {
	var out []string
	generation := h.object.GetGeneration()
	observed, found, _ := unstructured.NestedInt64(h.object.Object, "status", "observedGeneration")
	if found && observed < generation {
		out = append(out, "the controller has not observed the last change of the object yet: STATUS may be outdated")
	}
	if list.Paused {
		out = append(out, "the Deployment is paused: nothing is rolled out, and kubectl rollout undo fails")
	}
	if list.Strategy == "OnDelete" {
		out = append(out, "the strategy is OnDelete: pods are updated only after they are deleted")
	}
	if p := list.Partition; p != nil && *p > 0 {
		out = append(out, fmt.Sprintf("partition %d: pods with an ordinal below %d stay at the current revision", *p, *p))
	}
	if !slices.ContainsFunc(list.Items, func(r state.Revision) bool { return r.Update }) && len(list.Items) > 0 {
		out = append(out, "no revision matches the current template: the controller has not recorded it yet")
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if name == "" { // pods that are not rolled out, such as a Job's
			if len(list.Items) > 0 {
				out = append(out, fmt.Sprintf("pods without a revision label: %d", len(pods[name])))
			}
			continue
		}
		if !slices.ContainsFunc(list.Items, func(r state.Revision) bool { return r.Object.Name == name }) {
			out = append(out, fmt.Sprintf("pods running %q, whose revision no longer exists: %d", name, len(pods[name])))
		}
	}
	return out
}
