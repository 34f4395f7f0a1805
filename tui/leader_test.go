package tui

import (
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The header marks a kctl-ctrl that leads.
func TestHeaderMarksThisProgram(t *testing.T) {
	const identity = "node-1_kctl-ctrl-1b2c"
	lease := state.Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "kube-system", Name: "kube-controller-manager"}
	snap := state.Fold(state.NewSnapshot(state.Limits{}), state.Entry{Seq: 1, Event: state.LeaseChanged{Lease: lease, Holder: identity}})
	if got := leaderOf(snap, time.Now()); got != "node-1 (kctl-ctrl)" {
		t.Errorf("the header says %q", got)
	}
}
