package engine

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

func TestLackingError(t *testing.T) {
	needs := []rights.Need{
		{Right: rights.Right{Verb: "update", Group: "apps", Resource: "deployments"}, By: "deployment-controller"},
		{Right: rights.Right{Verb: "patch", Group: "apps", Resource: "deployments"}, By: "deployment-controller"},
		{Right: rights.Right{Verb: "get", Resource: "pods"}, By: "job-controller"},
	}
	want := "you may not do on context \"prod\" what these controllers do: get pods (for job-controller); patch, update deployments.apps (for deployment-controller)"
	if got := (&lead.LackingError{Context: "prod", Rules: rights.Merge(needs)}).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
