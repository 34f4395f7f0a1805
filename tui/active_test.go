package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// fakeActive is what a cluster says, and notes what the screen asks of it.
type fakeActive struct {
	state.ActiveChanged
	plan    port.ActivePlan
	refusal error
	asked   []string
}

func (f *fakeActive) Prepare(_ context.Context, controllers []string) (port.ActivePlan, error) {
	f.asked = append(f.asked, "prepare "+strings.Join(controllers, ","))
	return f.plan, f.refusal
}

func (f *fakeActive) Begin(_ context.Context, plan port.ActivePlan, typed string) error {
	f.asked = append(f.asked, "begin "+typed)
	if typed != plan.Context {
		return errors.New(typed + " is not its name")
	}
	f.Phase = state.ActiveCandidate
	return nil
}

func (f *fakeActive) End(context.Context) error {
	f.asked = append(f.asked, "end")
	f.Phase = state.ActiveOff
	return nil
}

func (f *fakeActive) facts() []state.Event { return []state.Event{f.ActiveChanged} }

var electedLease = state.Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "kube-system", Name: "kube-controller-manager"}

// staging is a cluster, with a plan to write to it.
func staging() *fakeActive {
	return &fakeActive{plan: port.ActivePlan{
		Context: "staging", Server: "https://10.0.0.1:6443", Version: "v1.37.1", Lease: "kube-system/kube-controller-manager",
		Holder: "node-1_real", Since: testNow.Add(-3 * time.Hour), RenewTime: testNow.Add(-time.Second),
		Controllers: []string{"deployment-controller", "replicaset-controller"},
	}}
}

// elected folds steps of an election, a second apart, the last a second ago.
func elected(mode state.Mode, steps ...state.ElectionChanged) *state.Snapshot {
	at := testNow.Add(-time.Duration(len(steps)) * time.Second)
	entries := []state.Entry{
		{Seq: 1, At: at, Event: state.SessionStarted{Context: "staging", Server: "v1.37.1", Mode: mode}},
		{Seq: 2, At: at, Event: state.ControllerChanged{Controller: "deployment-controller", Status: state.ControllerRunning, Queues: []string{"deployment"}, Workers: 5}},
		{Seq: 3, At: at, Event: state.LeaseChanged{Lease: state.Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "kube-system", Name: "a-scheduler"}, Holder: "node-9_x", RenewTime: testNow.Add(-time.Second), Duration: 15}},
		{Seq: 4, At: at, Event: state.LeaseChanged{Lease: electedLease, Holder: "host_me", RenewTime: testNow.Add(-time.Second), Duration: 15, Transitions: 3}},
	}
	for i, step := range steps {
		step.Lease, step.Identity = electedLease, "host_me"
		entries = append(entries, state.Entry{Seq: uint64(5 + i), At: at.Add(time.Duration(i) * time.Second), Event: step})
	}
	return state.Fold(state.NewSnapshot(state.Limits{}), entries...)
}

var (
	waits   = state.ElectionChanged{Phase: state.ElectionCandidate, Holder: "node-1_real", Since: testNow.Add(-3 * time.Hour), RenewTime: testNow.Add(-2 * time.Second)}
	leads   = state.ElectionChanged{Phase: state.ElectionAcquired, Deadline: 9200 * time.Millisecond}
	late    = state.ElectionChanged{Phase: state.ElectionRenewedLate, Deadline: 9200 * time.Millisecond, Gap: 7 * time.Second}
	lost    = state.ElectionChanged{Phase: state.ElectionLost, Holder: "node-1_real", Reason: "it is held by node-1_real, which this process did not do"}
	given   = state.ElectionChanged{Phase: state.ElectionReleased}
	withdrw = state.ElectionChanged{Phase: state.ElectionWithdrawn}
)

// Only the context's name, typed whole, begins anything.
func TestActiveIsTyped(t *testing.T) {
	f := staging()
	s := newScreen(t, Options{Parts: page.Parts{Active: f}}, elected(state.ModeDryRunClient), 80, 24)
	s.press("L").has("Write to context staging for real?", "node-1_real since 02:06:07", "Type the name of the context:").golden("active-plan-80x24")
	s.press("esc").has("Nothing was done.").hasNot("for real?")
	s.press(":", "type:active replicaset, deployment", "enter", "enter").has("Nothing was done.")
	s.press("L", "type:stag", "enter").has("Active mode is refused", "stag is not its name").press("esc")
	s.press("L", "up").hasNot("stag ").press("esc") // what was typed is not offered again
	if got := strings.Join(f.asked, "; "); got != "prepare ; prepare replicaset,deployment; prepare ; begin stag; prepare " || f.Phase != state.ActiveOff {
		t.Errorf("the screen has asked: %s", got)
	}
	s.press("L", "type:staging", "enter").has(" CANDIDATE ", "Joined leader election").hasNot("Write to context")
	s.show(elected(state.ModeDryRunClient, waits))
	s.has("node-1 leads since 3h")
	s.press("L").has("Leave leader election?").press("n")
	if f.Phase != state.ActiveCandidate {
		t.Error("any key was a yes")
	}
	s.press(":", "type:observe", "enter", "y").has("DRY-RUN=CLIENT", "stepped down")
}

func TestActiveIsRefused(t *testing.T) {
	f := staging()
	f.refusal = errors.New("context \"staging\" is protected (protectedContexts: stag* in config.yaml): use a dry run, or choose another with --context")
	s := newScreen(t, Options{Parts: page.Parts{Active: f}}, elected(state.ModeDryRunClient), 80, 24)
	s.press("L").golden("active-refused-80x24")
	s.press("esc")
	f.Again = "a process can lead only once: restart kctl-ctrl"
	s.press("L").has("Lead: not now: a process can lead only once")
	s.press(":", "type:active", "enter").has("active: not now: a process can lead only once")
	sandbox := newScreen(t, Options{}, shop(t, 0), 80, 24)
	sandbox.press("L").has("in a sandbox the controllers already write for real")
	replay := newScreen(t, Options{Parts: page.Parts{Player: &stillPlayer{}, Missing: "this is a recording"}}, shop(t, 0), 80, 24)
	replay.press("L").has("not now: this is a recording")
}

// What the user types meanwhile is not taken for the context's name.
func TestPlanDoesNotTakeKeysOfAnother(t *testing.T) {
	f := staging()
	s := newScreen(t, Options{Parts: page.Parts{Active: f}}, elected(state.ModeDryRunClient), 80, 24)
	s.press(":", "type:sta")
	s.send(preparedMsg{f.plan, nil})
	s.press("type:ging", "enter").hasNot("for real?")
	if len(f.asked) != 0 {
		t.Errorf("asked: %q", f.asked)
	}
	s.carryOut(s.tick())
	s.has("Write to context staging for real?", "Type the name of the context:")
}

func TestActiveHeaderAndLeases(t *testing.T) {
	f := staging()
	f.Phase = state.ActiveLeading
	snap := elected(state.ModeActive, waits, leads, late)
	s := newScreen(t, Options{Parts: page.Parts{Active: f}}, snap, 80, 24)
	s.has(" ACTIVE ", "FOR REAL").press("q").has("release the lease?").press("n")
	s.press("7").golden("leases-leading-80x24")
	s.press("enter").has("Our election", "candidate as host_me: node-1_real leads since", "acquired: host_me leads", "renewed late, 7s after").press("esc")
	wide := newScreen(t, Options{Parts: page.Parts{Active: f}}, snap, 200, 60)
	wide.press("7").golden("leases-leading-200x60")

	f.Phase, f.Ended, f.Reason, f.EndedAt = state.ActiveEnding, "lease lost", lost.Reason, testNow.Add(-time.Second)
	s.show(elected(state.ModeActive, waits, leads, late, lost))
	s.has(" STEPPING DOWN ", "LEASE LOST 1s ago: no more writes, the controllers are being stopped", "LOST at 05:06:06.000", "WE LOST IT")
	f.Phase = state.ActiveOff
	gone := elected(state.ModeDryRunClient, waits, leads, lost)
	gone = state.Fold(gone, state.Entry{Seq: 8, At: testNow, Event: state.ControllerChanged{Controller: "deployment-controller", Status: state.ControllerStopped}})
	s.show(gone)
	s.golden("leases-lost-80x24")
}

// A recording tells of the election of the process that it is of.
func TestLeasesOfAnElectionReplayed(t *testing.T) {
	for _, c := range []struct {
		steps []state.ElectionChanged
		want  []string
	}{
		{[]state.ElectionChanged{waits}, []string{"it is candidate since", "node-1 leads since", "WE WAIT"}},
		{[]state.ElectionChanged{waits, leads}, []string{"leading since", "WE LEAD", "this process"}},
		{[]state.ElectionChanged{waits, leads, given}, []string{"released at"}},
		{[]state.ElectionChanged{waits, withdrw}, []string{"withdrawn at"}},
	} {
		s := newScreen(t, Options{Parts: page.Parts{Player: &stillPlayer{}, Missing: "this is a recording"}}, elected(state.ModeActive, c.steps...), 80, 24)
		s.press("7").has(c.want...).has("RECORDING").hasNot("gate")
		s.press("H").has("candidate as host_me")
		s.press("esc")
		s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")})
		if !s.quitting {
			t.Error("to leave a recording of active mode is no end of active mode, and is asked about")
		}
	}
}

// Text of a lease and of a kubeconfig is hostile.
func TestActiveHostileText(t *testing.T) {
	f := staging()
	f.plan.Context = strings.Repeat("ctx\x1b[31m", 50)
	f.plan.Holder = "a\u202e\u009b31mb" + strings.Repeat("界", 400) + "_x\x1b]0;t\x07"
	f.plan.Server = "https://" + strings.Repeat("x", 1000)
	f.Reason, f.Ended, f.EndedAt = f.plan.Holder, "lease lost", testNow
	in := waits
	in.Holder = f.plan.Holder
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		s := newScreen(t, Options{Parts: page.Parts{Active: f}}, elected(state.ModeDryRunClient, in), size[0], size[1])
		s.press("L").text()
		s.press("esc", "7").text()
		f.Phase = state.ActiveCandidate
		s.press("1", "7", "enter").text()
		if strings.ContainsAny(s.View(), "\x1b\x07\u202e\u009b") {
			t.Error("bytes of a lease came through")
		}
		f.Phase = state.ActiveOff
	}
}
