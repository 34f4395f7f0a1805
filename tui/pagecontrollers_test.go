package tui

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestControllersPage(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	s.golden("controllers-80x24")
	s.press("j", "j", "enter").golden("controllers-detail-80x24")
	wide := newScreen(t, shopOptions(snap), snap, 200, 60)
	wide.golden("controllers-200x60")
}

// A session begins with a writer or two; the loops come in above them.
func TestControllersOpenAtTheTop(t *testing.T) {
	few := state.Fold(state.NewSnapshot(state.Limits{}), state.Entry{Seq: 1, Event: state.ControllerChanged{Controller: "simulated-provisioner", Status: state.ControllerRunning}})
	all := shop(t, 0)
	s := newScreen(t, shopOptions(all), few, 80, 24)
	s.has("> simulated-provisioner")
	s.show(all)
	s.has("> daemonset").hasNot("> simulated")
	s.press("j").has("> deployment")
	s.show(few)
	s.show(all)
	if c := s.pages[pageControllers].under(s.env); c.name != "deployment-controller" {
		t.Errorf("the cursor has left the row that it was put on for %q", c.name)
	}
}
