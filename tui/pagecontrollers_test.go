package tui

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
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
	if c := s.pages[page.Controllers].Under(s.env); c.Name != "deployment-controller" {
		t.Errorf("the cursor has left the row that it was put on for %q", c.Name)
	}
}

// At a command, its clients come first; the loops are the world it lives in.
func TestClientsOfTheCommandComeFirst(t *testing.T) {
	snap := state.Fold(state.NewSnapshot(state.Limits{}),
		state.Entry{Seq: 1, Event: state.ControllerChanged{Controller: "deployment-controller", Status: state.ControllerRunning}},
		state.Entry{Seq: 2, Event: state.ClientRead{Client: "zebra", Verb: "list", Object: state.Ref{Resource: "pods"}, Status: 200, Count: 1}})
	s := newScreen(t, Options{Parts: page.Parts{Command: &fakeCommand{ended: make(chan struct{})}}}, snap, 80, 24)
	s.has("> zebra")
	s.press("o", "g").has("> deployment")
}

// Dry loops stand beside those of the cluster, however they were started.
func TestDryLoopsAreBesideTheClusters(t *testing.T) {
	started := state.SessionStarted{Mode: state.ModeDryRunClient, Context: "staging"}
	of := func(s state.SessionStarted) *state.Snapshot {
		return state.Fold(state.NewSnapshot(state.Limits{}), state.Entry{Seq: 1, Event: s},
			state.Entry{Seq: 2, Event: state.ControllerChanged{Controller: "deployment-controller", Status: state.ControllerRunning}})
	}
	newScreen(t, Options{}, of(started), 80, 24).has("1 of 1 running here; the cluster's own run elsewhere")
	newScreen(t, Options{Parts: page.Parts{Player: &stillPlayer{}}}, of(started), 80, 24).has("1 of 1 running").hasNot("elsewhere")
}

// What stands in the place of rows is told to its end.
func TestWhatStandsInThePlaceOfRowsIsWhole(t *testing.T) {
	s := newScreen(t, Options{Parts: page.Parts{Observing: true}}, state.NewSnapshot(state.Limits{}), 80, 24)
	s.press("3").has("No informer runs. Type : and the name of a type, such as pods, to open its", "  cache.")
}
