package controllers

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var _ Taps = (*tap.Tap)(nil)

// The real taps fit every controller, and know its queues by the names that the
// table has.
func TestTapsFit(t *testing.T) {
	taps := tap.New(state.RecorderFunc(func(state.Event) {}))
	defer taps.Close()
	in := testInputs(t)
	m := start(t, newEmptyCluster(t), nil, func(c *Config) {
		c.Component = complete(t, in.Inputs, everything(), "--kube-api-content-type=application/json", "--kube-api-qps=-1")
		c.RootCA = in.rootCA
		c.Taps = taps
	})
	for _, s := range m.Statuses() {
		if s.Status == state.ControllerFailed {
			t.Errorf("%s: %s", s.Controller, s.Reason)
		}
	}
	within(t, "the controllers run", func() bool {
		return !slices.ContainsFunc(m.Statuses(), func(s state.ControllerChanged) bool { return s.Status == state.ControllerStarting })
	})
	waitForSync(t, m)
	for i := range m.descriptors {
		r := &m.descriptors[i]
		if statusOf(m, r.Name) != state.ControllerRunning {
			continue
		}
		within(t, "the queues of "+r.Name+" are tapped", func() bool { return len(taps.Queues(r.Name)) >= len(r.Queues) })
		got := taps.Queues(r.Name)
		slices.Sort(got)
		if diff := cmp.Diff(r.queueNames(), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: queues in the table and tapped ones:\n%s", r.Name, diff)
		}
	}
	stop(t, m)
}
