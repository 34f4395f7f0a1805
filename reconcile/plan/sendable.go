package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// sendable returns an object as it is sent: without what only a server may write, and
// without what cannot be simulated. The note describes what was left out; the content
// is nil if nothing is sent.
//
// restored undoes every such change for the comparison.
func sendable(o Object) (content map[string]any, note string) {
	content = withoutBookkeeping(o.DeepCopy().Object)
	if metadata := content["metadata"].(map[string]any); metadata["namespace"] == "" {
		delete(metadata, "namespace")
	}
	if writer := maintained(o.Object); writer != "" {
		return nil, "not sent: " + writer + " writes it"
	}
	gvk := o.GroupVersionKind()
	switch typeName(gvk.Group, gvk.Kind) {
	case "StorageClass.storage.k8s.io":
		if _, set := content["allowedTopologies"]; set {
			delete(content, "allowedTopologies")
			return content, "without allowedTopologies: the simulated nodes are in zones of their own"
		}
	case "CronJob.batch":
		if suspended, _, _ := unstructured.NestedBool(content, "spec", "suspend"); suspended {
			return content, ""
		}
		if err := unstructured.SetNestedField(content, true, "spec", "suspend"); err != nil {
			return content, "" // the server says better what is wrong with spec
		}
		return content, "suspended: its schedule follows the clock"
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		webhooks, _ := content["webhooks"].([]any)
		for _, webhook := range webhooks {
			if webhook, ok := webhook.(map[string]any); ok {
				delete(webhook, "rules")
			}
		}
		return content, "its webhooks are not called: nothing serves them here"
	case "APIService.apiregistration.k8s.io":
		if fieldText(content, "spec", "group") == metricsGroup {
			return nil, "not sent: the sandbox serves " + metricsGroup + " itself"
		}
		if backend, _, _ := unstructured.NestedMap(content, "spec", "service"); backend != nil {
			return nil, fmt.Sprintf("not sent: nothing serves Service %v/%v here", backend["namespace"], backend["name"])
		}
	}
	return content, ""
}

// restored adds to a captured object what sendable left out, as the manifest has it.
func restored(content, manifest map[string]any) map[string]any {
	if manifest == nil || content == nil {
		return content
	}
	group, kind := groupKind(content)
	switch typeName(group, kind) {
	case "StorageClass.storage.k8s.io":
		if topologies, set := manifest["allowedTopologies"]; set {
			content = maps.Clone(content)
			content["allowedTopologies"] = topologies
		}
	case "CronJob.batch":
		content = (&unstructured.Unstructured{Object: content}).DeepCopy().Object
		suspended, _, _ := unstructured.NestedBool(manifest, "spec", "suspend")
		_ = unstructured.SetNestedField(content, suspended, "spec", "suspend")
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		content = (&unstructured.Unstructured{Object: content}).DeepCopy().Object
		rules := map[any]any{}
		webhooks, _ := manifest["webhooks"].([]any)
		for _, webhook := range webhooks {
			if webhook, ok := webhook.(map[string]any); ok && webhook["rules"] != nil {
				rules[webhook["name"]] = webhook["rules"]
			}
		}
		webhooks, _ = content["webhooks"].([]any)
		for _, webhook := range webhooks {
			if webhook, ok := webhook.(map[string]any); ok && rules[webhook["name"]] != nil {
				webhook["rules"] = rules[webhook["name"]]
			}
		}
	}
	return content
}

func groupKind(content map[string]any) (group, kind string) {
	id := identityOf(content)
	return id.group, id.kind
}

// sameSpec reports whether two states of an object differ only in status and
// server-managed metadata.
func sameSpec(a, b map[string]any) bool {
	return reflect.DeepEqual(withoutBookkeeping(a), withoutBookkeeping(b))
}

// serverFields of metadata are written by the API server only.
var serverFields = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink"}

func withoutBookkeeping(content map[string]any) map[string]any {
	trimmed := map[string]any{}
	for key, value := range content {
		if key != "status" && key != "metadata" {
			trimmed[key] = value
		}
	}
	metadata := map[string]any{}
	original, _ := content["metadata"].(map[string]any)
	for key, value := range original {
		if !slices.Contains(serverFields, key) {
			metadata[key] = value
		}
	}
	trimmed["metadata"] = metadata
	return trimmed
}
