package leases

import (
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func lease(holder string, acquired, renewed time.Duration) state.LeaseStatus {
	return state.LeaseStatus{
		Namespace: "kube-system", Name: "kube-controller-manager", Class: state.LeaseOfControlPlane, Identity: holder,
		AcquireTime: tuitest.Now().Add(acquired), RenewTime: tuitest.Now().Add(renewed), Duration: 15, Transitions: 3,
	}.At(tuitest.Now())
}

// A lease that changes hands before it has run out means two leaders; one that was
// released, or had run out, does not.
func TestLeaseTakenOverWhileItIsHeld(t *testing.T) {
	for _, c := range []struct {
		name   string
		lists  [][]state.LeaseStatus
		alarm  bool
		events string
	}{
		{"live", [][]state.LeaseStatus{{lease("a_1", -time.Hour, -2*time.Second)}, {lease("b_2", 0, 0)}}, true, "took kube-system/kube-controller-manager 13s before the time of a was over"},
		{"ran out", [][]state.LeaseStatus{{lease("a_1", -time.Hour, -20*time.Second)}, {lease("b_2", 0, 0)}}, false, "went from a to b"},
		{"released", [][]state.LeaseStatus{{lease("a_1", -time.Hour, -2*time.Second)}, {lease("", -time.Hour, -time.Second)}, {lease("b_2", 0, 0)}}, false, "taken by b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			snap := state.NewSnapshot(state.Limits{})
			e := &page.Env{Parts: &page.Parts{}, Ctx: t.Context(), Snap: snap, Latest: snap, Now: tuitest.Now()}
			p := New().(*Page)
			for _, items := range c.lists {
				p.take(e, newsOf(state.LeaseList{Items: items}, p.history, tuitest.Now()))
			}
			if got := p.Alarm(e) != ""; got != c.alarm {
				t.Errorf("alarm is %v, want %v: %q", got, c.alarm, p.Alarm(e))
			}
			var told string
			for _, l := range p.history.lines(e, func(string) bool { return true }, maxLeaseHistory) {
				told += l.Text() + "\n"
			}
			if !strings.Contains(told, c.events) || strings.Contains(told, "TWO CLAIM TO LEAD") != c.alarm {
				t.Errorf("the history lacks %q, or is wrong about two leaders:\n%s", c.events, told)
			}
		})
	}
}
