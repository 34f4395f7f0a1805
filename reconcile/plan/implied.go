package plan

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// impliedNamespaces are the namespaces that objects are in and that nobody
// defines.
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

// defaultClassAnnotation marks the StorageClass of claims that name none.
const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"

// impliedClasses are the StorageClasses that claims name and that nobody
// defines: a real cluster has them from its administrators, and without them
// every such claim would stay pending here. They provision as the cluster's
// default class does; where there is none, nothing could be said of them and
// none is implied.
//
// A class that a PersistentVolume names as well is but a word that the two have
// in common, and needs no object.
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
		// The simulation's own provisions at once, whatever the default is.
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

// classesOf are the StorageClasses by which an object, or what its controller
// makes of it, claims volumes that are still to be provisioned.
func classesOf(content map[string]any) []string {
	var names []string
	claim := func(content map[string]any) {
		name := fieldText(content, "spec", "storageClassName")
		if name != "" && fieldText(content, "spec", "volumeName") == "" {
			names = append(names, name)
		}
	}
	pod := func(content map[string]any, path ...string) {
		volumes, _, _ := unstructured.NestedSlice(content, append(path, "spec", "volumes")...)
		for _, volume := range volumes {
			volume, _ := volume.(map[string]any)
			if template, found, _ := unstructured.NestedMap(volume, "ephemeral", "volumeClaimTemplate"); found {
				claim(template)
			}
		}
	}
	group, kind := groupKind(content)
	switch t := typeName(group, kind); t {
	case "PersistentVolumeClaim":
		claim(content)
	case "Pod":
		pod(content)
	default:
		template, makes := makesPods[t]
		if !makes {
			return nil
		}
		pod(content, template...)
		claims, _, _ := unstructured.NestedSlice(content, "spec", "volumeClaimTemplates")
		for _, template := range claims {
			if template, ok := template.(map[string]any); ok {
				claim(template)
			}
		}
	}
	return names
}
