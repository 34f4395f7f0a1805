package engine

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
)

func TestDescribeUndone(t *testing.T) {
	for want, c := range map[string]struct {
		undone    []string
		namespace string
	}{
		"": {},
		"while this process leads, no process runs these controllers of kube-controller-manager (2): job, node-lifecycle": {
			undone: []string{"job-controller", "node-lifecycle-controller"},
		},
		"while this process leads, all namespaces but shop are not reconciled by any controller; no process runs these controllers of kube-controller-manager (1): job": {
			undone: []string{"job-controller"}, namespace: "shop",
		},
	} {
		if got := lead.DescribeUndone(c.undone, c.namespace); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
