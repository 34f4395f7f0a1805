package scheduler

import (
	"slices"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// The roles of upstream's are found under their names, and what is its process's own
// is not asked of a user.
func TestRights(t *testing.T) {
	needs := rights.OfLoops([]rights.Loop{Rights()}, rights.Options{Mode: rights.Active})
	has := func(verb, group, resource string) bool {
		return slices.ContainsFunc(needs, func(n rights.Need) bool {
			return n.By == Name && n.Verb == verb && n.Group == group && n.Resource == resource
		})
	}
	for _, want := range [][3]string{
		{"create", "", "pods/binding"}, {"patch", "", "pods/status"}, {"delete", "", "pods"}, {"watch", "", "nodes"},
		{"create", "events.k8s.io", "events"}, {"watch", "storage.k8s.io", "storageclasses"}, {"update", "", "persistentvolumeclaims"},
		{"update", "resource.k8s.io", "resourceclaims/status"},
	} {
		if !has(want[0], want[1], want[2]) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, n := range needs {
		if ofItsProcess(n.Group) || n.Namespace != "" {
			t.Errorf("%+v is not the scheduler's", n)
		}
	}
}
