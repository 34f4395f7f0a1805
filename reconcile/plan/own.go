package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A sandbox has objects of its own, which stand for what a real cluster has
// anyway: a default StorageClass, nodes, certificates. Where a manifest names one
// of them, or competes with it, it yields: the plan says "created", as of any
// object that the set brings.

// simulatedManager begins the field managers of the simulated parts of a cluster:
// reconcile/simulate/nodes.Name, reconcile/simulate/storage.Name.
const simulatedManager = "simulated-"

// simulated reports whether the simulation made an object that no manifest has
// been applied to.
func simulated(content map[string]any) bool {
	made := false
	for _, f := range (&unstructured.Unstructured{Object: content}).GetManagedFields() {
		if f.Manager == FieldManager && f.Operation == metav1.ManagedFieldsOperationApply {
			return false
		}
		made = made || strings.HasPrefix(f.Manager, simulatedManager) && f.Subresource == ""
	}
	return made
}

// metricsGroup is served by the sandbox's API server (package
// reconcile/simulate/metrics), with an APIService that kube-apiserver writes.
const metricsGroup = "metrics.k8s.io"

func servesMetrics(content map[string]any) bool {
	group, kind := groupKind(content)
	return typeName(group, kind) == "APIService.apiregistration.k8s.io" && fieldText(content, "spec", "group") == metricsGroup
}

// yields reports whether an object that exists makes way for a manifest: it is the
// simulation's, or a class that Apply made up.
func (c *Cluster) yields(content map[string]any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.implied[uidOf(content)] || simulated(content) || servesMetrics(content)
}

// makeRoom takes an object out of the way of a manifest. The fields of a class cannot
// be changed: it is deleted. A Node stays, with the pods on it, and becomes the
// manifest's; so does the APIService of metrics, whose manifest is not sent.
//
// It reports whether the object now counts as not having been there.
func (a *applying) makeRoom(ctx context.Context, r request, before map[string]any) (bool, error) {
	gvk := r.GroupVersionKind()
	t := typeName(gvk.Group, gvk.Kind)
	stays := t == "Node" || t == "APIService.apiregistration.k8s.io"
	if !stays && !isClass[t] {
		return false, nil
	}
	a.mu.Lock()
	a.applied.Displaced = append(a.applied.Displaced, uidOf(before))
	a.mu.Unlock()
	if stays {
		return true, nil
	}
	err := a.cluster.client(r.mapping, "").Delete(ctx, r.GetName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("replace the sandbox's own: %w", message(err))
	}
	return true, nil
}

// yieldDefault takes the mark of the default from the simulation's StorageClass if
// the set brings a default of its own: with two, the younger is taken, by the
// second.
func (a *applying) yieldDefault(ctx context.Context, requests []request) error {
	brings := slices.ContainsFunc(requests, func(r request) bool {
		gvk := r.GroupVersionKind()
		return typeName(gvk.Group, gvk.Kind) == "StorageClass.storage.k8s.io" && r.implied == "" && r.GetAnnotations()[defaultClassAnnotation] == "true"
	})
	if !brings {
		return nil
	}
	mapping, err := a.cluster.mapping(classKind)
	if err != nil {
		return nil
	}
	classes, err := a.cluster.client(mapping, "").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the StorageClasses: %w", message(err))
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{defaultClassAnnotation: nil}}})
	if err != nil {
		return err
	}
	for _, class := range classes.Items {
		if class.GetAnnotations()[defaultClassAnnotation] != "true" || !simulated(class.Object) {
			continue
		}
		patched, err := a.cluster.client(mapping, "").Patch(ctx, class.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: simulatedManager + "default"})
		if err != nil {
			return fmt.Errorf("change the sandbox's own StorageClass %s: %w", class.GetName(), message(err))
		}
		if err := a.admissionCache(ctx, Result{Mapping: mapping, After: patched.Object}); err != nil {
			return err
		}
	}
	return nil
}

// maintained says who writes an object that a control plane keeps for itself, with
// its own addresses and certificates; empty for others. An apply of it would be
// undone, or refused.
func maintained(content map[string]any) string {
	id := identityOf(content)
	const server, controllers = "the API server", "kube-controller-manager"
	switch t := typeName(id.group, id.kind); {
	case t == "ConfigMap" && id.name == "kube-root-ca.crt":
		return controllers
	case t == "ConfigMap" && id.namespace == "kube-system" && id.name == "extension-apiserver-authentication":
		return server
	case (t == "Service" || t == "Endpoints" || t == "EndpointSlice.discovery.k8s.io") && id.namespace == "default" && id.name == "kubernetes":
		return server
	case t == "ServiceCIDR.networking.k8s.io" && id.name == "kubernetes":
		return server
	}
	return ""
}
