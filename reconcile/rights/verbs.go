package rights

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reading is what a verb of this program asks a cluster for, apart from the
// informers of loops.
type reading struct {
	group, resource string
	verbs           []string
}

// verbs are the verbs that ask, with what they read.
var verbs = map[string][]reading{
	// An owner, and what it owns, can be of any type.
	"tree":    {{"*", "*", []string{"get", "list", "watch"}}},
	"cascade": {{"*", "*", []string{"get", "list"}}},
	// What stands in an object's way can be of many types, its owners among
	// them; the loops that it runs dry have informers.
	"why": {{"*", "*", []string{"get", "list", "watch"}}},
	// The cache page opens whatever type is asked for.
	"tui": {{"*", "*", []string{"get", "list", "watch"}}},
	"leases": {
		{"coordination.k8s.io", "leases", []string{"list", "watch"}},
		{"coordination.k8s.io", "leasecandidates", []string{"list"}},
		// For the names of holders.
		{"", "pods", []string{"list"}},
		{"", "nodes", []string{"get", "list"}},
	},
	"revisions": {
		{"apps", "daemonsets", []string{"get", "watch"}},
		{"apps", "deployments", []string{"get", "watch"}},
		{"apps", "statefulsets", []string{"get", "watch"}},
		{"apps", "controllerrevisions", []string{"list", "watch"}},
		{"apps", "replicasets", []string{"list", "watch"}},
		{"", "pods", []string{"list", "watch"}},
	},
}

// Verbs are the names that OfVerbs knows, sorted.
func Verbs() []string { return slices.Sorted(maps.Keys(verbs)) }

// OfVerbs are the needs of verbs that ask a cluster.
func OfVerbs(names []string) ([]Need, error) {
	var needs []Need
	for _, name := range names {
		readings, known := verbs[name]
		if !known {
			return nil, fmt.Errorf("unknown command %q: use one of %s", name, strings.Join(Verbs(), ", "))
		}
		for _, r := range readings {
			for _, verb := range r.verbs {
				needs = append(needs, Need{Right{Verb: verb, Group: r.group, Resource: r.resource}, name})
			}
		}
	}
	return needs, nil
}
