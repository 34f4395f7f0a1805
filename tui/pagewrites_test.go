package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// on opens a page before the first picture.
func on(o Options, page page.ID) Options {
	o.Start = int(page)
	return o
}

func TestWritesPage(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, on(shopOptions(snap), page.Writes), snap, 80, 24)
	s.golden("writes-80x24")
	s.press("/", "type:deployments shop/web", "enter", "j", "j", "enter").golden("writes-detail-80x24")
	newScreen(t, on(shopOptions(snap), page.Writes), snap, 200, 60).golden("writes-200x60")
}

// A cursor at the top follows what comes; elsewhere it stays on its row.
func TestWritesFollow(t *testing.T) {
	some, all := shop(t, 900), shop(t, 0)
	s := newScreen(t, on(shopOptions(all), page.Writes), some, 200, 60)
	first := s.page().Under(s.env)
	s.show(all)
	if now := s.page().Under(s.env); now.Seq <= first.Seq {
		t.Errorf("the cursor at the top stayed on entry %d", now.Seq)
	}
	s = newScreen(t, on(shopOptions(all), page.Writes), some, 200, 60)
	s.press("j", "j")
	stays := s.page().Under(s.env)
	s.show(all)
	if now := s.page().Under(s.env); now.Seq != stays.Seq {
		t.Errorf("the cursor went from entry %d to %d", stays.Seq, now.Seq)
	}
	s.show(some) // a replay goes back
	if now := s.page().Under(s.env); now.Seq != stays.Seq {
		t.Errorf("going back, the cursor went from entry %d to %d", stays.Seq, now.Seq)
	}
}

func TestWritesScope(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 200, 60)
	s.send(page.JumpMsg{Page: page.Writes, To: page.Subject{Kind: page.OnController, Controller: "job-controller"}})
	s.has("of job").hasNot("deployment  shop", "kube-scheduler")
	s.send(page.JumpMsg{Page: page.Writes, To: page.Subject{Kind: page.OnKey, Controller: "deployment-controller", Queue: "deployment", Key: "shop/web"}})
	s.has("of deployment shop/web", "create").hasNot("shop/log-agent")
	s.press("esc").hasNot("of deployment shop/web").has("kube-scheduler")
	s.send(page.JumpMsg{Page: page.Writes, To: page.Subject{Kind: page.OnObject, Object: state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}}})
	s.has("of deployments.apps shop/web")
	s.send(page.JumpMsg{Page: page.Writes, To: page.Subject{Kind: page.OnWrite, Seq: 197}})
	if got := s.page().Under(s.env); got.Seq != 197 {
		t.Errorf("the cursor is on entry %d", got.Seq)
	}
	s.has("deployments.apps", "real: the server carried it out", "the user")
	s.press("T").has("Timeline of apply deployments shop/web")
}

func TestWritesHeartbeats(t *testing.T) {
	at := testNow.Add(-time.Second)
	beat := state.WriteFinished{Controller: "simulated-nodes", Verb: "update", Result: state.WriteDone, Mode: state.ModeActive,
		Object: state.Ref{Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "node-1"}}
	snap := state.Fold(nil, state.Entry{Seq: 1, At: at, Event: beat})
	s := newScreen(t, on(Options{}, page.Writes), snap, 120, 24)
	s.has("without heartbeats").hasNot("node-1")
	s.press("H").has("node-1").hasNot("without heartbeats")
	s.press("H").hasNot("node-1")
}

func TestWritesCopy(t *testing.T) {
	var copied string
	snap := state.Fold(nil, state.Entry{Seq: 1, At: testNow, Event: state.WriteFinished{
		Controller: "deployment-controller", Verb: "update", Subresource: "scale", Mode: state.ModeDryRunServer, Result: state.WriteDry, Status: 200,
		Object: state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "a$(reboot)'"}, Duration: 6 * time.Millisecond,
		Cause: state.Cause{Kind: state.CauseSync, Key: "shop/web", Sync: 3},
		Diff:  []state.FieldChange{{Path: "spec.replicas", Old: "2", New: "3"}}, Approximate: true,
	}})
	o := on(Options{Copy: func(s string) (string, error) { copied = s; return "here", nil }}, page.Writes)
	s := newScreen(t, o, snap, 80, 24)
	s.press("c").has("Copied update deployments/scale")
	want := `update 'deployments.apps/a$(reboot)'\''' --namespace=shop --subresource=scale --dry-run=server  # deployment for shop/web: dry, 200 in 6ms
# ~ spec.replicas: 2 → 3
# approximate: before the server's defaulting and admission
`
	if copied != want {
		t.Errorf("copied\n%s\nwant\n%s", copied, want)
	}
	s.press("enter").has("approximate", "~ spec.replicas: 2 → 3", "dry: the server checked it and stored nothing", "no longer kept")
}

// hostile are writes whose every text tries to break the frame.
func hostile() *state.Snapshot {
	nasty := "\u009b31m\x1b]52;c;AAAA\a\u202egnp.\u200b世界\r\n" + strings.Repeat("ab", 500)
	ref := state.Ref{Group: nasty, Resource: nasty, Namespace: nasty, Name: nasty, UID: "u"}
	cause := state.Cause{Kind: state.CauseSync, Controller: nasty, Queue: nasty, Key: nasty, Sync: 1}
	events := []state.Event{
		state.ObjectChanged{Informer: nasty, Change: state.ChangeAdded, Object: ref, NewRV: nasty},
		state.KeyAdded{Controller: nasty, Queue: nasty, Key: nasty, How: "Add", Cause: state.Cause{Kind: state.CauseEvent, Object: &ref, Change: state.ChangeAdded, NewRV: nasty}},
		state.KeyTaken{Controller: nasty, Queue: nasty, Key: nasty, Sync: 1, Cause: state.Cause{Kind: state.CauseEvent, Object: &ref, Change: state.ChangeAdded, NewRV: nasty}},
		state.WriteFinished{Controller: nasty, Verb: nasty, Object: ref, Subresource: nasty, Cause: cause, Result: state.WriteFailed, Status: 500, Message: nasty,
			Diff: []state.FieldChange{{Path: nasty, Old: nasty, New: nasty}, {Path: nasty, New: nasty}, {Path: nasty}}},
		state.KeyFinished{Controller: nasty, Queue: nasty, Key: nasty, Sync: 1, Failed: true, Error: nasty},
		state.WriteFinished{Controller: nasty, Verb: nasty, Object: state.Ref{Resource: "events", Namespace: nasty, Name: nasty}, Cause: state.Cause{Kind: state.CauseUnknown, Object: &ref}, Result: state.WriteRefused,
			Status: 403, Message: nasty, Tells: &state.EventText{Type: nasty, Reason: nasty, Message: nasty, Count: 2}},
		state.Gap{Informer: nasty, Reason: nasty},
		state.Dropped{Where: nasty, Count: 3},
		state.Note{Source: nasty, Text: nasty},
		state.ControllerChanged{Controller: nasty, Status: state.ControllerFailed, Reason: nasty},
		state.LeaseChanged{Lease: ref, Holder: nasty},
	}
	var snap *state.Snapshot
	for i, e := range events {
		snap = state.Fold(snap, state.Entry{Seq: uint64(i + 1), At: testNow.Add(time.Duration(i) * time.Millisecond), Event: e})
	}
	return snap
}

func TestWritesHostile(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		s := newScreen(t, on(Options{}, page.Writes), hostile(), size[0], size[1])
		s.text()
		s.press("enter").text()
	}
}

// many is a journal whose rings are full.
func many(t testing.TB) *state.Snapshot {
	t.Helper()
	entries := tuitest.Recorded(t)
	snap := state.NewSnapshot(state.Limits{})
	for i := uint64(0); snap.Recent.Evicted() == 0 || snap.Writes.Evicted() == 0; i++ {
		more := make([]state.Entry, len(entries))
		for j, e := range entries {
			e.Seq += i * uint64(len(entries))
			e.At = e.At.Add(time.Duration(i) * time.Minute)
			more[j] = e
		}
		snap = state.Fold(snap, more...)
	}
	return snap
}

func BenchmarkWritesView(b *testing.B) {
	snap := many(b)
	for _, page := range []page.ID{page.Writes, page.Timeline} {
		b.Run(fmt.Sprint(page), func(b *testing.B) {
			o := on(shopOptions(snap), page)
			o.Theme, o.Journal = testTheme(b, "mono", 0), noJournal{}
			m := newModel(b.Context(), o)
			m.width, m.height, m.env.Snap = 200, 60, snap
			for b.Loop() {
				m.View()
			}
		})
	}
}
