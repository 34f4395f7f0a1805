package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// errorPlayer stands at an entry of the recorded session, and goes to the failures
// in it.
type errorPlayer struct {
	stillPlayer
	t     *testing.T
	all   []state.Entry
	entry int // how many of all are folded
	// moved shows where it stands, as the journal does in time.
	moved func(*state.Snapshot)
}

func (p *errorPlayer) Range() (from, to time.Time) { return p.all[0].At, p.all[len(p.all)-1].At }

func (p *errorPlayer) Position() time.Time {
	if p.entry == 0 {
		return p.all[0].At
	}
	return p.all[p.entry-1].At
}

func (p *errorPlayer) SeekError(bool) (bool, error) {
	for i := p.entry; i < len(p.all); i++ {
		if e, ok := p.all[i].Event.(state.KeyFinished); ok && e.Failed {
			p.entry = i + 1
			p.moved(shop(p.t, p.entry))
			return true, nil
		}
	}
	return false, nil
}

// A replay opens at its beginning, where nothing is to be seen: it says what to do.
// The next error puts the cursor of the page on it, whether the snapshot comes
// before the answer or after.
func TestReplayGoesToTheErrors(t *testing.T) {
	all := tuitest.Recorded(t)
	for _, early := range []bool{true, false} {
		for _, page := range []string{"1", "2", "8"} {
			p := &errorPlayer{t: t, all: all}
			empty := state.NewSnapshot(state.Limits{})
			o := shopOptions(shop(t, 0))
			o.Player = p
			s := newScreen(t, o, empty, 120, 30)
			s.press(page).has("stopped at its beginning: space plays, ] goes to the first error")
			var came *state.Snapshot
			p.moved = func(snap *state.Snapshot) {
				if came = snap; early {
					s.show(snap)
				}
			}
			if s.press("]"); !early {
				s.show(came)
			}
			s.has("An error: ").hasNot("at its beginning")
			if s.errorAt != (time.Time{}) {
				t.Error("an error that was found is still sought")
			}
			failed := all[p.entry-1].Event.(state.KeyFinished)
			found := false
			for line := range strings.Lines(s.text()) {
				found = found || strings.HasPrefix(line, "> ") && strings.Contains(line, strings.TrimSuffix(failed.Controller, "-controller"))
			}
			if !found {
				t.Errorf("page %s, early %v: the cursor is not on the failure of %s:\n%s", page, early, failed.Key, s.text())
			}
		}
	}
}

// A key that is pressed meanwhile is not undone by the error that comes.
func TestReplayForgetsTheErrorSought(t *testing.T) {
	all := tuitest.Recorded(t)
	p := &errorPlayer{t: t, all: all}
	o := shopOptions(shop(t, 0))
	o.Player = p
	s := newScreen(t, o, state.NewSnapshot(state.Limits{}), 120, 30)
	var came *state.Snapshot
	p.moved = func(snap *state.Snapshot) { came = snap }
	s.press("8", "]", "1")
	s.show(came)
	s.hasNot("An error: ")
}

// renewed is a journal of leases that are renewed beside a pod that comes.
func renewed(t *testing.T) *state.Snapshot {
	t.Helper()
	lease := state.Ref{Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "node-1"}
	pod := state.Ref{Resource: "pods", Namespace: "shop", Name: "web-1"}
	snap := state.NewSnapshot(state.Limits{})
	seq := uint64(0)
	add := func(events ...state.Event) {
		for _, e := range events {
			seq++
			snap = state.Fold(snap, state.Entry{Seq: seq, At: testNow.Add(time.Duration(seq) * time.Millisecond), Event: e})
		}
	}
	key := func(object state.Ref, change state.Change, name string, sync uint64, failed bool) {
		const gc, queue = "garbage-collector-controller", "garbage_collector_graph_changes"
		cause := state.Cause{Kind: state.CauseEvent, Controller: gc, Object: &object, Change: change, NewRV: "7"}
		add(state.ObjectChanged{Object: object, Change: change, NewRV: "7"},
			state.KeyAdded{Controller: gc, Queue: queue, Key: name, How: "Add", Cause: cause},
			state.KeyTaken{Controller: gc, Queue: queue, Key: name, Sync: sync, Cause: cause},
			state.KeyFinished{Controller: gc, Queue: queue, Key: name, Sync: sync, Failed: failed})
	}
	key(lease, state.ChangeUpdated, "update Lease node-1", 1, false)
	key(pod, state.ChangeAdded, "add Pod web-1", 2, false)
	key(lease, state.ChangeUpdated, "update Lease node-2", 3, true)
	return snap
}

// An idle cluster renews its leases for ever: what comes of that is left out, and
// said to be, unless it fails.
func TestRenewalsAreLeftOut(t *testing.T) {
	snap := renewed(t)
	s := newScreen(t, shopOptions(snap), snap, 140, 40)
	s.press("2").has("add Pod web-1", "update Lease node-2", "without 1 of renewed leases").hasNot("update Lease node-1")
	s.press("H").has("update Lease node-1").hasNot("of renewed leases")
	s.press("8").has("web-1", "everything but renewals of leases").hasNot("kube-node-lease/node-1 updated", "update Lease node-1")
	s.press("H").has("update Lease node-1").hasNot("but renewals")
}

// A type takes a namespace or a filter after it.
func TestTypeWithAFilter(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 100, 40)
	s.press(":", "type:deployments.apps shop", "enter").has("web", "/^shop/")
	s.press(":", "type:deployments.apps nowhere", "enter").has("/^nowhere/").hasNot("web")
	s.press(":", "type:deployments.apps /we", "enter").has("/we", "web")
	s.press(":", "type:deployments.apps /[", "enter").has("invalid filter")
}

// A recording shows what was held back in its session: pauses, breakpoints, writes that
// waited, the breaker; and its keys command nothing.
func TestReplayShowsControls(t *testing.T) {
	snap := tuitest.BusyShop(t)
	_, k, _ := snap.Keys.At(0)
	record := func(e state.Event) {
		snap = state.Fold(snap, state.Entry{Seq: snap.Seq + 1, At: snap.At, Event: e})
	}
	for _, e := range []state.Event{
		state.BreakpointChanged{Number: 1, Controller: k.Controller, Key: "shop/*", BeforeWrite: true},
		state.BreakpointHit{Hold: 1, Breakpoint: 1, Controller: k.Controller, Queue: k.Queue, Key: k.Key, Write: "create pods shop/web-1"},
		state.PauseChanged{Controller: k.Controller, Paused: true, Breakpoint: 1},
		state.WriteHeld{Question: newGate().questions[0]},
		state.ApprovalGiven{Number: 1, Covers: "all writes of replicaset-controller"},
	} {
		record(e)
	}
	o := Options{Parts: page.Parts{Player: &stillPlayer{}, Missing: "this is a recording"}, Start: int(page.Queues)}
	s := newScreen(t, o, snap, 120, 30)
	s.has("BREAK: 1 held", " 1 WRITES HELD: A").press("A").has("1 write pending, 1 approval for more than one write").press("esc")
	record(state.BreakerChanged{Tripped: true, Reason: "the limit of 3 writes per minute is reached"})
	s.show(snap)
	s.has("BREAKER TRIPPED, nothing is written: the limit of 3 writes per minute is reached")
	s.send(page.JumpMsg{Page: page.Queues, To: page.Subject{Kind: page.OnKey, Controller: k.Controller, Queue: k.Queue, Key: k.Key}})
	s.has("HELD write").press("u").has("HELD for", "before a write of a key that matches shop/*").press("esc")
	s.press("A").has("create pods shop/web-1").press("y").has("this is a recording").press("esc")
	s.press("1").has("PAUSED")
	s.press("8").has("BREAK 1: held before the write: create pods shop/web-1", "CIRCUIT BREAKER: no writes until it is released")
}
