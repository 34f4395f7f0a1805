package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// impliedNamespaces are the namespaces that objects use and no manifest defines.
func (a *applying) impliedNamespaces(requests []request) []request {
	known := map[string]bool{}
	for _, r := range requests {
		if r.GetKind() == "Namespace" && r.GroupVersionKind().Group == "" {
			known[r.GetName()] = true
		}
	}
	mapping, err := a.cluster.mapping(namespaceKind)
	if err != nil {
		return nil
	}
	var implied []request
	for _, r := range requests {
		ns := r.GetNamespace()
		if ns == "" || known[ns] {
			continue
		}
		known[ns] = true
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(namespaceKind)
		u.SetName(ns)
		implied = append(implied, request{
			Object: Object{Unstructured: u, Source: r.Source}, mapping: mapping, implied: "implied by the objects in it",
		})
	}
	return implied
}

var classKind = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}

// defaultClassAnnotation marks the StorageClass of claims without a class.
const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"

// impliedClasses are the StorageClasses that claims name and no manifest defines: a
// real cluster gets them from its administrators, and without them every such claim
// would stay pending here. They provision like the cluster's default class; if there is
// none, none is implied.
//
// A class that a PersistentVolume names, too, is only used for matching and needs no
// object.
func (a *applying) impliedClasses(ctx context.Context, requests []request) ([]request, error) {
	known := map[string]bool{}
	var claiming []request
	for _, r := range requests {
		switch gvk := r.GroupVersionKind(); typeName(gvk.Group, gvk.Kind) {
		case "StorageClass.storage.k8s.io":
			known[r.GetName()] = true
		case "PersistentVolume":
			known[fieldText(r.Object.Object, "spec", "storageClassName")] = true
		default:
			if len(classesOf(r.Object.Object)) > 0 {
				claiming = append(claiming, r)
			}
		}
	}
	if len(claiming) == 0 {
		return nil, nil
	}
	mapping, err := a.cluster.mapping(classKind)
	if err != nil {
		return nil, nil
	}
	classes, err := a.cluster.client(mapping, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the StorageClasses that claims may name: %w", message(err))
	}
	var model *unstructured.Unstructured
	for i, class := range classes.Items {
		known[class.GetName()] = true
		// The simulation's own class provisions at once, even if it is not the default.
		if simulated(class.Object) || model == nil && class.GetAnnotations()[defaultClassAnnotation] == "true" {
			model = &classes.Items[i]
		}
	}
	if model == nil {
		return nil, nil
	}
	var implied []request
	for _, r := range claiming {
		for _, name := range classesOf(r.Object.Object) {
			if known[name] {
				continue
			}
			known[name] = true
			u := &unstructured.Unstructured{Object: withoutBookkeeping(model.Object)}
			u.Object["metadata"] = map[string]any{"name": name}
			implied = append(implied, request{
				Object: Object{Unstructured: u, Source: r.Source}, mapping: mapping,
				implied: "implied by the claims that name it: provisions as " + model.GetName() + " does here",
			})
		}
	}
	return implied, nil
}

// isClass are the types that Apply creates if objects name them and no manifest defines
// them: clusters get them from their administrators.
var isClass = map[string]bool{
	"StorageClass.storage.k8s.io":     true,
	"PriorityClass.scheduling.k8s.io": true,
	"RuntimeClass.node.k8s.io":        true,
}

// podClass is a type that pods name and without which admission rejects them.
type podClass struct {
	kind schema.GroupVersionKind
	// field of a pod's spec has the name.
	field string
	// content is the assumed content of a class of which only the name is known.
	content func(name string) map[string]any
	taken   string
}

var podClasses = []podClass{
	{
		kind: schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}, field: "priorityClassName",
		content: func(string) map[string]any { return map[string]any{"value": int64(0)} },
		taken:   "value unknown, 0 assumed",
	},
	{
		kind: schema.GroupVersionKind{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}, field: "runtimeClassName",
		content: func(name string) map[string]any {
			// A handler is a DNS label, a name may have dots.
			return map[string]any{"handler": strings.Trim(strings.ReplaceAll(name, ".", "-")[:min(len(name), 63)], "-")}
		},
		taken: "overhead and node selector unknown, none assumed",
	},
}

// impliedPodClasses are the classes that pods name and no manifest defines. Without
// them admission would reject the pods, and a plan would show nothing else about them.
func (a *applying) impliedPodClasses(ctx context.Context, requests []request) ([]request, error) {
	var implied []request
	for _, class := range podClasses {
		named := map[string]request{}
		var names []string
		for _, r := range requests {
			name := fieldText(podSpecOf(r.Object.Object), class.field)
			if _, known := named[name]; name != "" && !known {
				named[name] = r
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		mapping, err := a.cluster.mapping(class.kind)
		if err != nil {
			continue
		}
		there, err := a.cluster.client(mapping, "").List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list what pods may name in %s: %w", class.field, message(err))
		}
		known := map[string]bool{}
		for _, o := range there.Items {
			known[o.GetName()] = true
		}
		for _, r := range requests {
			if r.GroupVersionKind().GroupKind() == class.kind.GroupKind() {
				known[r.GetName()] = true
			}
		}
		for _, name := range names {
			if known[name] {
				continue
			}
			u := &unstructured.Unstructured{Object: class.content(name)}
			u.SetGroupVersionKind(class.kind)
			u.SetName(name)
			implied = append(implied, request{
				Object: Object{Unstructured: u, Source: named[name].Source}, mapping: mapping,
				implied: "implied by the pods that name it: " + class.taken,
			})
		}
	}
	return implied, nil
}

// classesOf are the StorageClasses with which an object, or what its controller
// creates, claims volumes that are not provisioned yet.
func classesOf(content map[string]any) []string {
	var names []string
	claim := func(content map[string]any) {
		name := fieldText(content, "spec", "storageClassName")
		if name != "" && fieldText(content, "spec", "volumeName") == "" {
			names = append(names, name)
		}
	}
	pod := func(spec map[string]any) {
		volumes, _, _ := unstructured.NestedSlice(spec, "volumes")
		for _, volume := range volumes {
			volume, _ := volume.(map[string]any)
			if template, found, _ := unstructured.NestedMap(volume, "ephemeral", "volumeClaimTemplate"); found {
				claim(template)
			}
		}
	}
	group, kind := groupKind(content)
	switch t := typeName(group, kind); {
	case t == "PersistentVolumeClaim":
		claim(content)
	case makesPods[t] != nil:
		claims, _, _ := unstructured.NestedSlice(content, "spec", "volumeClaimTemplates")
		for _, template := range claims {
			if template, ok := template.(map[string]any); ok {
				claim(template)
			}
		}
	}
	if spec := podSpecOf(content); spec != nil {
		pod(spec)
	}
	return names
}

// podSpecOf is the spec of a pod, or of the pods that an object's controller creates;
// nil for other objects.
func podSpecOf(content map[string]any) map[string]any {
	group, kind := groupKind(content)
	t := typeName(group, kind)
	template, makes := makesPods[t]
	if !makes && t != "Pod" {
		return nil
	}
	spec, _, _ := unstructured.NestedMap(content, append(slices.Clone(template), "spec")...)
	return spec
}
