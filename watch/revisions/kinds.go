package revisions

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Target is an object whose revisions are requested.
type Target struct {
	Resource schema.GroupVersionResource
	Kind     string
	// Namespace and Name are the object's.
	Namespace, Name string
}

type kind struct {
	name     string
	resource schema.GroupVersionResource
}

func apps(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
}

var (
	deployments  = kind{"Deployment", apps("deployments")}
	statefulSets = kind{"StatefulSet", apps("statefulsets")}
	daemonSets   = kind{"DaemonSet", apps("daemonsets")}
)

// wellKnown are the names of built-in types with revisions, so that they need no
// discovery.
var wellKnown = map[string]kind{
	"deployment": deployments, "deployments": deployments, "deploy": deployments,
	"statefulset": statefulSets, "statefulsets": statefulSets, "sts": statefulSets,
	"daemonset": daemonSets, "daemonsets": daemonSets, "ds": daemonSets,
}

// WellKnown resolves a name of a built-in type with revisions: "deploy", "StatefulSet",
// "daemonsets.apps", "deployments.v1.apps".
func WellKnown(word string) (schema.GroupVersionResource, string, bool) {
	word = strings.ToLower(word)
	for _, suffix := range []string{".v1.apps", ".apps"} {
		word = strings.TrimSuffix(word, suffix)
	}
	k, known := wellKnown[word]
	return k.resource, k.name, known
}

// Types are the usual names that WellKnown accepts, and the other names, each with its
// type.
func Types() (usual, aliases map[string]schema.GroupVersionResource) {
	usual, aliases = map[string]schema.GroupVersionResource{}, map[string]schema.GroupVersionResource{}
	for word, k := range wellKnown {
		if word == strings.ToLower(k.name) {
			usual[word] = k.resource
		} else {
			aliases[word] = k.resource
		}
	}
	return usual, aliases
}
