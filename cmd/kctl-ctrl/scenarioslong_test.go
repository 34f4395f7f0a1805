//go:build scenarios

package main

import "testing"

// TestDryRunOfAllScenarios is the long form of TestDryRunPersistsNothing.
func TestDryRunOfAllScenarios(t *testing.T) {
	all := scenarios()
	if len(all) < 200 {
		t.Errorf("there are %d scenarios", len(all))
	}
	newProofOf(t, all, nil).persistsNothing(t)
}

// TestAllScenariosSeeABrokenGuard is the long form of TestProofSeesABrokenGuard: it
// has to see 50 scenarios come to harm.
func TestAllScenariosSeeABrokenGuard(t *testing.T) {
	for name, b := range brokenGuards {
		t.Run(name, func(t *testing.T) { newProofOf(t, scenarios(), nil).seesBroken(t, b.mode, b.broken, 50) })
	}
}
