package leases

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A kctl-ctrl that leads is not shown as kube-controller-manager of its machine.
func TestHolderIsThisProgram(t *testing.T) {
	const identity = "node-1_kctl-ctrl-1b2c"
	node := &state.LeaseHolder{Ref: state.Ref{Resource: "nodes", Name: "node-1"}}
	pod := &state.LeaseHolder{Ref: state.Ref{Resource: "pods", Name: "web-1"}, Node: "node-1"}
	for want, l := range map[string]state.LeaseStatus{
		"node-1 (kctl-ctrl)":              {Identity: identity},
		"node/node-1 (kctl-ctrl)":         {Identity: identity, Holder: node},
		"pod/web-1 on node-1 (kctl-ctrl)": {Identity: identity, Holder: pod},
		"node/node-1":                     {Identity: "node-1_1b2c", Holder: node},
	} {
		if got := holderText(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
