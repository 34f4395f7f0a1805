package rights

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reading is what a command of this program reads from a cluster, apart from the
// informers of controllers.
type reading struct {
	group, resource string
	verbs           []string
}

// verbs are the commands that read, with what they read.
var verbs = map[string][]reading{
	// Owners and dependents can be of any type.
	"tree":    {{"*", "*", []string{"get", "list", "watch"}}},
	"cascade": {{"*", "*", []string{"get", "list"}}},
	// What blocks an object can be of many types, including its owners; the controllers
	// that it runs have informers.
	"why": {{"*", "*", []string{"get", "list", "watch"}}},
	// The Cache page opens any type.
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

// Verbs are the names that OfVerbs accepts, sorted.
func Verbs() []string { return slices.Sorted(maps.Keys(verbs)) }

// OfVerbs are the needs of commands that read a cluster.
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
