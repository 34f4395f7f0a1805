package owners

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Type is a resource in the API server's preferred version.
type Type struct {
	Group, Version, Resource, Kind string
	Namespaced                     bool
}

// String is "deployments.apps".
func (t Type) String() string { return state.Ref{Group: t.Group, Resource: t.Resource}.Type() }

func (t Type) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource}
}

// served is one version of a type, with its verbs.
type served struct {
	Type
	verbs []string
}

// Kinds is the result of API discovery. It is immutable.
type Kinds struct {
	// byKind has every served version of every kind; the Type is in the requested
	// version.
	byKind map[schema.GroupVersionKind]Type
	// ownable are the types that GC watches, others the types that it does not, in the
	// preferred version of each and ordered by name.
	ownable, others []Type
	failed          map[schema.GroupVersion]error
}

// ignored are the resources that GC ignores (k8s.io/kubernetes v1.37.1
// pkg/controller/garbagecollector/graph_builder.go DefaultIgnoredResources).
var ignored = map[schema.GroupResource]bool{
	{Resource: "events"}:                         true,
	{Group: "events.k8s.io", Resource: "events"}: true,
}

// gcVerbs are the verbs without which GC does not watch a resource
// (garbagecollector.go GetDeletableResources).
var gcVerbs = []string{"delete", "list", "watch"}

// NewKinds indexes the result of discovery. failed are the group versions that could
// not be discovered.
func NewKinds(groups []*metav1.APIGroup, resources []*metav1.APIResourceList, failed map[schema.GroupVersion]error) *Kinds {
	k := &Kinds{byKind: map[schema.GroupVersionKind]Type{}, failed: failed}
	rank := ranks(groups)
	best := map[schema.GroupResource]served{}
	for _, list := range resources {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			t := Type{Group: gv.Group, Version: gv.Version, Resource: r.Name, Kind: r.Kind, Namespaced: r.Namespaced}
			k.byKind[gv.WithKind(r.Kind)] = t
			gr := schema.GroupResource{Group: gv.Group, Resource: r.Name}
			if old, seen := best[gr]; !seen || rank[gv] < rank[schema.GroupVersion{Group: old.Group, Version: old.Version}] {
				best[gr] = served{t, r.Verbs}
			}
		}
	}
	for gr, s := range best {
		switch {
		case ignored[gr], !hasAll(s.verbs, gcVerbs):
			k.others = append(k.others, s.Type)
		case gr.Group == "extensions" && servedElsewhere(best, gr):
			// Servers before 1.22 serve these twice, with the same uids.
		default:
			k.ownable = append(k.ownable, s.Type)
		}
	}
	slices.SortFunc(k.ownable, compareTypes)
	slices.SortFunc(k.others, compareTypes)
	return k
}

// ranks orders the versions of each group, the preferred one first.
func ranks(groups []*metav1.APIGroup) map[schema.GroupVersion]int {
	rank := map[schema.GroupVersion]int{}
	for _, g := range groups {
		for i, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Version}
			rank[gv] = i + 1
			if v.Version == g.PreferredVersion.Version {
				rank[gv] = 0
			}
		}
	}
	return rank
}

func hasAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(v string) bool { return !slices.Contains(have, v) })
}

func servedElsewhere(best map[schema.GroupResource]served, gr schema.GroupResource) bool {
	for _, group := range []string{"apps", "networking.k8s.io", "policy"} {
		if _, yes := best[schema.GroupResource{Group: group, Resource: gr.Resource}]; yes {
			return true
		}
	}
	return false
}

func compareTypes(a, b Type) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
}

// Ownable are the types whose objects GC watches, whose owner references therefore have
// an effect, ordered by group and resource.
func (k *Kinds) Ownable() []Type { return slices.Clone(k.ownable) }

// NotOwnable are the other served types: those that GC ignores, and those that cannot
// be listed, watched and deleted.
func (k *Kinds) NotOwnable() []Type { return slices.Clone(k.others) }

// Failed are the group versions that could not be discovered, with the reason.
func (k *Kinds) Failed() map[schema.GroupVersion]error { return k.failed }

// Lookup finds the type of a reference. The error is the reason why GC cannot find it
// either.
func (k *Kinds) Lookup(apiVersion, kind string) (Type, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Type{}, fmt.Errorf("%q is not a valid apiVersion", apiVersion)
	}
	if t, known := k.byKind[gv.WithKind(kind)]; known {
		return t, nil
	}
	if err, failed := k.failed[gv]; failed {
		return Type{}, fmt.Errorf("cannot discover %s: %w", gv, err)
	}
	for other := range k.byKind {
		if other.Group == gv.Group && other.Kind == kind {
			return Type{}, fmt.Errorf("%s is not served in version %s", kind, gv.Version)
		}
	}
	return Type{}, fmt.Errorf("no kind %s is served in %s", kind, gv)
}

// Resource finds a type by group and resource, in the preferred version. It returns
// false for types that are not served.
func (k *Kinds) Resource(group, resource string) (Type, bool) {
	for _, list := range [][]Type{k.ownable, k.others} {
		for _, t := range list {
			if t.Group == group && t.Resource == resource {
				return t, true
			}
		}
	}
	return Type{}, false
}
