package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// withEvents is a ReplicaSet that may not make its pods, and the Events of it: in
// order a millisecond apart, the last now.
func withEvents() *state.Snapshot {
	rs := state.Ref{Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: "web-1", UID: "r1"}
	node := state.Ref{Version: "v1", Resource: "nodes", Name: "node-1"}
	event := func(name string, about state.Ref, result state.WriteResult, tells *state.EventText) state.WriteFinished {
		return state.WriteFinished{Controller: "replicaset-controller", Verb: "create", Object: state.Ref{Version: "v1", Resource: "events", Namespace: "shop", Name: name, UID: name},
			Cause: state.Cause{Kind: state.CauseUnknown, Controller: "replicaset-controller", Object: &about}, Mode: state.ModeActive, Result: result, Status: 201, Duration: 100 * time.Microsecond, Tells: tells}
	}
	added := state.Cause{Kind: state.CauseEvent, Object: &rs, Change: state.ChangeAdded, NewRV: "5"}
	events := []state.Event{
		state.SessionStarted{Context: "staging", Mode: state.ModeActive},
		state.ObjectChanged{Informer: "replicasets.apps", Change: state.ChangeAdded, Object: rs, NewRV: "5"},
		state.KeyAdded{Controller: "replicaset-controller", Queue: "replicaset", Key: "shop/web-1", How: "Add", Cause: added},
		state.KeyTaken{Controller: "replicaset-controller", Queue: "replicaset", Key: "shop/web-1", Sync: 1, Cause: added},
		state.KeyFinished{Controller: "replicaset-controller", Queue: "replicaset", Key: "shop/web-1", Sync: 1, Failed: true, Error: "exceeded quota"},
		event("web-1.a", rs, state.WriteDone, &state.EventText{Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota: pods", Count: 1}),
		event("web-1.b", rs, state.WriteDone, &state.EventText{Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota: memory"}),
		event("web-1.c", rs, state.WriteRefused, &state.EventText{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: web-1-x", Count: 7}),
		event("web-1.d", rs, state.WriteDone, nil),
		event("node-1.a", node, state.WriteDone, &state.EventText{Type: "Normal", Reason: "RegisteredNode", Message: "node-1 is there"}),
	}
	snap := state.NewSnapshot(state.Limits{})
	for i, e := range events {
		snap = state.Fold(snap, state.Entry{Seq: uint64(i + 1), At: testNow.Add(time.Duration(i-len(events)+1) * time.Millisecond), Event: e})
	}
	return snap
}

// The story of an object has the Events written about it, as remarks that fork
// nothing, and leads from them to all that is known.
func TestTimelineTellsEvents(t *testing.T) {
	snap := withEvents()
	s := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 120, 24)
	s.send(page.JumpMsg{Page: page.Timeline, To: page.Subject{Kind: page.OnObject, Object: state.Ref{Group: "apps", Resource: "replicasets", Namespace: "shop", Name: "web-1"}}})
	s.golden("story-events-120x24")
	s.has("→ enqueue replicaset shop/web-1", "· 2 × Event Warning FailedCreate by replicaset",
		"· Event Normal SuccessfulCreate, 7 times by replicaset, refused", ": Created pod: web-1-x").hasNot("RegisteredNode", "(supposed)")
	s.press("G", "k", "k", "enter").has("Event Warning FailedCreate by replicaset 100µs: exceeded quota: memory")
	s.press("d").has("about       replicasets.apps shop/web-1", "event       Warning FailedCreate", "message     exceeded quota", "supposed: the object that the Event").press("esc")
	s.press("i").has("write Events asynchronously").press("esc")
	s.send(page.JumpMsg{Page: page.Timeline, To: page.Subject{Kind: page.OnObject, Object: state.Ref{Resource: "nodes", Name: "node-1"}}})
	s.has("Event Normal RegisteredNode of nodes node-1 by replicaset 100µs: node-1 is there ← cause unk").hasNot("FailedCreate")
}

// In the journal an Event is told in its own words, and found by them and by its
// object; from it one comes to the object's story.
func TestTimelineFindsEvents(t *testing.T) {
	snap := withEvents()
	s := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 120, 24)
	s.has("Event Warning FailedCreate of replicasets.apps shop/web-1: exceeded quota: pods", "Event Normal SuccessfulCreate, 7 times of replicasets.apps shop/web-1, refused",
		"Event of replicasets.apps shop/web-1").hasNot("cause unknown")
	s.press("/", "type:RegisteredNode", "enter").has("Event Normal RegisteredNode of nodes node-1: node-1 is there").hasNot("FailedCreate")
	s.press("esc", "/", "type:replicasets.apps shop/web-1", "enter").has("FailedCreate").hasNot("RegisteredNode")
	s.press("g")
	for range 3 {
		if strings.HasPrefix(s.page().Under(s.env).Name, "create events") {
			break
		}
		s.press("j")
	}
	s.press("o").has("Timeline of replicasets.apps shop/web-1", "sync replicaset shop/web-1")
}
