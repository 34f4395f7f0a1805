//go:build twins

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/internal/twin"
)

// TestTwinsOfAllScenarios plays the scenarios to kube-controller-manager twice and to
// this program's controllers once, each on a sandbox of its own with the same objects.
// Upstream against itself is the bound of what can be asked.
func TestTwinsOfAllScenarios(t *testing.T) {
	all := slices.DeleteFunc(scenarios(), actsHere)
	st := stage(t, all)
	var outcomes []outcome
	for _, name := range []string{"upstream", "upstream again", "ours"} {
		t.Run(name, func(t *testing.T) {
			l := newLive(t, name, silentNodes)
			if name == "ours" {
				l.ours(t)
			} else {
				l.upstream(t)
				l.awaitUpstream(t)
			}
			l.play(t, st, all)
			l.rested(t, 0, 2*time.Second, time.Minute)
			l.playLate(t, st)
			l.rested(t, longLeast, longQuiet, longMost)
			outcomes = append(outcomes, l.outcome(t, st))
			t.Logf("%d writes; undone: %v; unknown user agents: %v", l.log.Total(), l.undone(t), l.log.Unknown())
		})
	}
	if len(outcomes) != 3 {
		t.Fatal("not all have run")
	}
	for _, rules := range []twin.Rules{{}, twinRules} {
		bound := compareOutcomes(all, outcomes[0], outcomes[1], rules)
		twins := compareOutcomes(all, outcomes[0], outcomes[2], rules)
		t.Logf("with %d rules\nupstream/upstream: %s\nours/upstream:     %s", len(rules.Optional), bound.figures(), twins.figures())
		if len(rules.Optional) == 0 {
			continue
		}
		t.Logf("upstream/upstream, end states:%s\nwrites:%s", list(bound.ends), list(bound.writes))
		twins.check(t)
		if n := len(twins.ends); n*100 > len(all) && n > len(bound.ends) {
			t.Errorf("%d of %d end states differ: more than 1 %%, and more than upstream's from its own (%d)", n, len(all), len(bound.ends))
		}
	}
}
