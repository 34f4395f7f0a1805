package scheduler

import (
	"slices"

	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// Rights describes what the scheduler needs of an API server: the two bootstrap
// roles that upstream binds to its user, with the feature gates of this process as
// they are. They have list and watch of all that its informers read. Left out is what
// they hold for upstream's process and not for scheduling: Leases, which are the
// election's, candidates of coordinated elections, and the reviews by which a secure
// port knows its callers.
func Rights() rights.Loop {
	loop := rights.Loop{Name: Name}
	for _, role := range bootstrappolicy.ClusterRoles() {
		if role.Name != "system:kube-scheduler" && role.Name != "system:volume-scheduler" {
			continue
		}
		for _, rule := range role.Rules {
			if !slices.ContainsFunc(rule.APIGroups, ofItsProcess) {
				loop.Rules = append(loop.Rules, rule)
			}
		}
	}
	return loop
}

// ofItsProcess reports whether rules on a group are about kube-scheduler's process.
func ofItsProcess(group string) bool {
	return slices.Contains([]string{"coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}, group)
}
