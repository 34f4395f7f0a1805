package plan

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// world is the union of both ends, as a forest.
type world struct {
	// items are all objects in the plan, sorted by identity.
	items []*item
	roots []*item
	scrub *scrubber
	// emptied are the namespaces that are being deleted at the end.
	emptied map[string]bool
}

func newWorld(in Input) *world {
	known := map[identity]*item{}
	at := func(id identity) *item {
		i := known[id]
		if i == nil {
			i = &item{identity: id, pattern: id.name}
			known[id] = i
		}
		return i
	}
	displaced := map[string]bool{}
	if in.After != nil {
		for _, uid := range in.After.Displaced {
			displaced[uid] = true
		}
	}
	for _, o := range in.Start.Objects {
		if displaced[uidOf(o.Content)] {
			continue
		}
		i := at(identityOf(o.Content))
		i.start, i.resource = o.Content, o.Resource
	}
	for _, o := range in.End.Objects {
		i := at(identityOf(o.Content))
		i.end, i.resource = o.Content, o.Resource
	}
	for _, applied := range []*Applied{in.Before, in.Removed, in.After} {
		if applied == nil {
			continue
		}
		for n := range applied.Results {
			at(identityOf(applied.Results[n].object())).take(&applied.Results[n], applied == in.Before)
		}
	}
	if in.Before != nil {
		for _, r := range in.Before.Results {
			// An object that was never sent cannot be deleted: it is removed with its
			// manifest.
			if i := at(identityOf(r.object())); r.Action == Skipped && i.result == nil {
				i.result = &Result{Action: Deleted, Manifest: r.Manifest, Source: r.Source, Mapping: r.Mapping}
			}
		}
	}
	if in.After != nil {
		for _, r := range in.After.Fired {
			at(identityOf(r.object())).note = r.Note
		}
	}
	w := &world{emptied: map[string]bool{}}
	w.keep(known, in)
	for _, i := range w.items {
		if i.typeName() == "Namespace" && terminating(i.end) {
			w.emptied[i.name] = true
		}
		i.start, i.end = restored(i.start, i.oldManifest), restored(i.end, i.manifest)
	}
	w.scrub = newScrubber(w.items)
	w.adopt()
	w.patterns()
	for _, i := range w.items {
		i.action = w.actionOf(i)
	}
	return w
}

// take records the result of an apply or delete for the object.
func (i *item) take(r *Result, base bool) {
	if r.Mapping != nil {
		i.resource = r.Mapping.Resource.Resource
	}
	if base {
		i.oldManifest = r.Manifest
		if r.Action == Skipped {
			i.start = r.Manifest
		}
		return
	}
	i.result = r
	if r.Action == Deleted {
		return
	}
	i.manifest = r.Manifest
	switch {
	case r.Action == Skipped:
		i.end = r.Manifest
		if i.oldManifest == nil && maintained(r.Manifest) != "" {
			i.start = r.Manifest // every cluster has it
		}
	case i.end == nil && i.start == nil:
		i.note = "deleted again at the end"
	case i.end == nil:
		i.note = "deleted by a controller"
	}
}

// terminating reports whether an object is being deleted.
func terminating(content map[string]any) bool {
	return content != nil && (&unstructured.Unstructured{Object: content}).GetDeletionTimestamp() != nil
}

// deletionNote describes what an unfinished deletion waits for.
func (i *item) deletionNote() string {
	if !terminating(i.end) || terminating(i.start) {
		return ""
	}
	u := unstructured.Unstructured{Object: i.end}
	if names := u.GetFinalizers(); len(names) > 0 {
		return "its deletion waits for the finalizers " + strings.Join(names, ", ")
	}
	if i.typeName() == "Namespace" {
		return "the namespace controller empties it first"
	}
	return "its deletion is not finished"
}

// keep selects the objects that belong to the plan.
func (w *world) keep(known map[identity]*item, in Input) {
	baseline := map[identity]bool{}
	for _, o := range in.Baseline.Objects {
		baseline[identityOf(o.Content)] = true
	}
	for _, id := range slices.SortedFunc(maps.Keys(known), compareIdentity) {
		i := known[id]
		named := i.result != nil || i.oldManifest != nil
		if i.start == nil && i.end == nil && (i.result == nil || i.result.After == nil) {
			continue // deleted, and gone before the start
		}
		// Aggregated ClusterRoles are the one kind of the server's own objects
		// that controllers change because of a manifest.
		if baseline[id] && !named && i.typeName() != "ClusterRole.rbac.authorization.k8s.io" {
			continue
		}
		// kube-system and its like hold what a control plane writes for itself
		// while it starts.
		if strings.HasPrefix(i.namespace, "kube-") && !named && len(ownersOf(i.content())) == 0 {
			continue
		}
		if automanaged(i) || passedOver[i.typeName()] && !named {
			continue
		}
		w.items = append(w.items, i)
	}
}

// automanaged APIServices follow from the CustomResourceDefinitions.
func automanaged(i *item) bool {
	if i.typeName() != "APIService.apiregistration.k8s.io" {
		return false
	}
	labels := (&unstructured.Unstructured{Object: i.content()}).GetLabels()
	return labels["kube-aggregator.kubernetes.io/automanaged"] != ""
}

// adopt sets every object's parent: its owner, or a substitute if upstream sets no
// ownerReference.
func (w *world) adopt() {
	byUID, byName := map[string]*item{}, map[identity]*item{}
	for _, i := range w.items {
		byName[i.identity] = i
		for _, content := range []map[string]any{i.start, i.end, i.appliedAs()} {
			if uid := uidOf(content); uid != "" {
				byUID[uid] = i
			}
		}
	}
	for _, i := range w.items {
		for _, uid := range ownersOf(i.content()) {
			if owner := byUID[uid]; owner != nil && owner != i {
				i.parent = owner
				break
			}
		}
		if i.parent == nil && i.result == nil {
			i.parent = w.foster(i, byName, byUID)
		}
	}
	for _, i := range w.items {
		if i.parent != nil && inCycle(i) {
			i.parent = nil
		}
	}
	for _, i := range w.items {
		if i.parent == nil {
			w.roots = append(w.roots, i)
		} else {
			i.parent.children = append(i.parent.children, i)
		}
	}
}

func (i *item) appliedAs() map[string]any {
	if i.result == nil {
		return nil
	}
	return i.result.After
}

func inCycle(i *item) bool {
	for up, steps := i.parent, 0; up != nil && steps < 100; up, steps = up.parent, steps+1 {
		if up == i {
			return true
		}
	}
	return false
}

// ownersOf are the UIDs of the owners, the managing one first.
func ownersOf(content map[string]any) []string {
	metadata, _ := content["metadata"].(map[string]any)
	references, _ := metadata["ownerReferences"].([]any)
	var owners []string
	for _, r := range references {
		reference, _ := r.(map[string]any)
		uid, _ := reference["uid"].(string)
		if controller, _ := reference["controller"].(bool); controller {
			owners = append([]string{uid}, owners...)
		} else {
			owners = append(owners, uid)
		}
	}
	return owners
}

// foster finds what an object without owner was created for: a volume for its claim, a
// claim for its StatefulSet, a namespace's standard objects for the namespace.
func (w *world) foster(i *item, byName map[identity]*item, byUID map[string]*item) *item {
	content := i.content()
	switch i.typeName() {
	case "PersistentVolume":
		claim, _, _ := unstructured.NestedMap(content, "spec", "claimRef")
		uid, _ := claim["uid"].(string)
		if owner := byUID[uid]; owner != nil {
			return owner
		}
		ns, _ := claim["namespace"].(string)
		name, _ := claim["name"].(string)
		return byName[identity{kind: "PersistentVolumeClaim", namespace: ns, name: name}]
	case "VolumeAttachment.storage.k8s.io":
		name, _, _ := unstructured.NestedString(content, "spec", "source", "persistentVolumeName")
		return byName[identity{kind: "PersistentVolume", name: name}]
	case "PersistentVolumeClaim":
		for _, candidate := range w.items {
			if candidate.typeName() == "StatefulSet.apps" && candidate.namespace == i.namespace && claimOf(candidate, i.name) {
				return candidate
			}
		}
	case "ServiceAccount", "ConfigMap":
		if i.name == "default" || i.name == "kube-root-ca.crt" {
			return byName[identity{kind: "Namespace", name: i.namespace}]
		}
	}
	return nil
}

// claimOf reports whether a StatefulSet creates claims of this name:
// template-set-ordinal.
func claimOf(set *item, name string) bool {
	for _, content := range []map[string]any{set.start, set.end} {
		templates, _, _ := unstructured.NestedSlice(content, "spec", "volumeClaimTemplates")
		for _, t := range templates {
			template, _ := t.(map[string]any)
			of, _, _ := unstructured.NestedString(template, "metadata", "name")
			if ordinal, ok := strings.CutPrefix(name, of+"-"+set.name+"-"); ok {
				if _, err := strconv.Atoi(ordinal); err == nil {
					return true
				}
			}
		}
	}
	return false
}

// patterns finds the generated names, parents before children: a name that
// contains a parent's generated name is generated too.
func (w *world) patterns() {
	var visit func(items []*item)
	visit = func(items []*item) {
		for _, i := range items {
			i.pattern = w.patternOf(i)
			visit(i.children)
		}
	}
	visit(w.roots)
}

// attachmentName is how attachdetach names a VolumeAttachment: by a hash over
// the volume and the node.
var attachmentName = regexp.MustCompile(`^csi-[0-9a-f]{64}$`)

func (w *world) patternOf(i *item) string {
	if i.result != nil || i.oldManifest != nil {
		return i.name
	}
	// A StatefulSet's pods have a generateName and true names; the suffix tells.
	if prefix := generatePrefix(i.content()); prefix != "" && isSuffix(strings.TrimPrefix(i.name, prefix)) {
		return prefix + "*"
	}
	if i.parent != nil && i.parent.generated() && strings.HasPrefix(i.name, i.parent.name) {
		return i.parent.pattern + strings.TrimPrefix(i.name, i.parent.name)
	}
	if attachmentName.MatchString(i.name) {
		return "csi-*"
	}
	return w.scrub.uids(i.name)
}
