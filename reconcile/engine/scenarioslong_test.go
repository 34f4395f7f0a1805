//go:build scenarios

package engine

import (
	"testing"
	"time"
)

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

// TestActiveOfAllScenarios runs the controllers for real: the scenarios appear when
// all workers wait for keys.
func TestActiveOfAllScenarios(t *testing.T) {
	st := stage(t, scenarios())
	l := newLive(t, "ours", silentNodes)
	s := l.ours(t)
	before := additions(s)
	l.play(t, st, st.scenarios)
	l.rested(t, 0, 2*time.Second, time.Minute)
	l.playLate(t, st)
	l.rested(t, longLeast, longQuiet, longMost)
	l.worksFor(t, s, before)
	t.Logf("%d scenarios, %d writes, %s after they appeared", len(st.scenarios), l.log.Total(), l.last.Sub(l.begun).Round(time.Second))
}
