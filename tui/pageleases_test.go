package tui

import (
	"context"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestLeasesPageOfARecording(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	s.press("7").golden("leases-80x24")
	s.press("n").golden("leases-nodes-80x24")
	wide := newScreen(t, shopOptions(snap), snap, 200, 60)
	wide.press("7").golden("leases-200x60")
}

// leaseScript gives one list after the other; the test takes the next by hand.
type leaseScript struct {
	lists []state.LeaseList
}

func (l *leaseScript) Next(ctx context.Context, after int) (state.LeaseList, int, error) {
	if after+1 < len(l.lists) {
		return l.lists[after+1], after + 1, nil
	}
	return state.LeaseList{}, after, context.Canceled
}

func lease(holder string, acquired, renewed time.Duration) state.LeaseStatus {
	return state.LeaseStatus{
		Namespace: "kube-system", Name: "kube-controller-manager", Class: state.LeaseOfControlPlane, Identity: holder,
		AcquireTime: testNow.Add(acquired), RenewTime: testNow.Add(renewed), Duration: 15, Transitions: 3,
	}.At(testNow)
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
			script := &leaseScript{}
			for _, items := range c.lists {
				script.lists = append(script.lists, state.LeaseList{Items: items})
			}
			s := newScreen(t, Options{Parts: Parts{Leases: script}}, state.NewSnapshot(state.Limits{}), 100, 24)
			p := s.pages[pageLeases].(*leasesPage)
			for i, list := range script.lists {
				p.number = i
				p.take(s.env, newsOf(list, p.history, testNow))
			}
			if got := p.alarm(s.env) != ""; got != c.alarm {
				t.Errorf("alarm is %v, want %v: %q", got, c.alarm, p.alarm(s.env))
			}
			s.env.Leases = nil
			s.Update(pageMsg{pageLeases, hiddenMsg{}})
			s.press("7", "H").has(c.events)
			if c.alarm {
				s.has("TWO CLAIM TO LEAD")
			}
		})
	}
}
