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
		"while this process leads, of kube-controller-manager's loops nobody runs these 2: job, node-lifecycle": {
			undone: []string{"job-controller", "node-lifecycle-controller"},
		},
		"while this process leads, all namespaces but shop are left alone by everybody; of kube-controller-manager's loops nobody runs these 1: job": {
			undone: []string{"job-controller"}, namespace: "shop",
		},
	} {
		if got := lead.DescribeUndone(c.undone, c.namespace); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
