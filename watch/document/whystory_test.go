package document

import (
	"fmt"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func tell(events ...state.Event) WhyStory {
	t := NewStoryTeller(func(controller, queue, key string) bool { return key == "shop/web" || key == "shop/web-1" })
	for i, e := range events {
		t.Add(state.Entry{Seq: uint64(i + 1), Event: e})
	}
	return t.Story()
}

func TestStory(t *testing.T) {
	listed := state.Cause{Kind: state.CauseEvent, Object: &state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}, Change: state.ChangeListed}
	sync := state.Cause{Kind: state.CauseSync, Controller: "deployment", Queue: "deployment", Key: "shop/web", Sync: 7}
	rs := state.Ref{Group: "apps", Resource: "replicasets", Namespace: "shop", Name: "web-1"}
	pods := func(name string) state.Event {
		return state.WriteFinished{Verb: "create", Object: state.Ref{Resource: "pods", Namespace: "shop", Name: name}, Result: state.WriteDry,
			Cause: state.Cause{Kind: state.CauseSync, Controller: "replicaset", Queue: "replicaset", Key: "shop/web-1", Sync: 8}, Diff: []state.FieldChange{{Path: "metadata.name", New: name}}}
	}
	s := tell(
		state.KeyAdded{Controller: "deployment", Queue: "deployment", Key: "shop/web", Cause: listed},
		state.KeyAdded{Controller: "deployment", Queue: "deployment", Key: "shop/web", Cause: listed},
		state.KeyAdded{Controller: "deployment", Queue: "deployment", Key: "shop/other", Cause: listed},
		state.KeyTaken{Controller: "deployment", Queue: "deployment", Key: "shop/web", Sync: 7},
		state.KeyTaken{Controller: "deployment", Queue: "deployment", Key: "shop/other", Sync: 9},
		state.KeyTaken{Controller: "replicaset", Queue: "replicaset", Key: "shop/web-1", Sync: 8},
		state.WriteFinished{Verb: "update", Object: rs, Result: state.WriteDry, Cause: sync, Diff: []state.FieldChange{{Path: "spec.replicas", Old: "0", New: "2"}}},
		state.WriteFinished{Verb: "update", Object: rs, Result: state.WriteDry, Cause: state.Cause{Kind: state.CauseSync, Sync: 9}},
		state.WriteFinished{Verb: "create", Object: state.Ref{Resource: "events"}, Result: state.WriteDry, Cause: state.Cause{Kind: state.CauseTimer}},
		pods("web-1-a"), pods("web-1-b"),
		state.KeyFinished{Controller: "deployment", Key: "shop/web", Sync: 7, Failed: true, Error: "conflict"},
		state.KeyFinished{Controller: "replicaset", Key: "shop/web-1", Sync: 8},
	)
	if len(s.Syncs) != 2 {
		t.Fatalf("syncs: %+v", s.Syncs)
	}
	d, r := s.Syncs[0], s.Syncs[1]
	if d.Key != "shop/web" || len(d.Causes) != 1 || d.CauseCount != 2 || !d.Failed || d.Error != "conflict" {
		t.Errorf("the first sync: %+v", d)
	}
	if len(d.Writes) != 1 || !d.Writes[0].FirstHop || len(d.Writes[0].Diff) != 1 {
		t.Errorf("its writes: %+v", d.Writes)
	}
	if len(r.Writes) != 1 || r.Writes[0].Count != 2 || r.Writes[0].Diff != nil {
		t.Errorf("two pods, one line: %+v", r.Writes)
	}
}

// A loop that goes round and round tells it once.
func TestStoryRepeats(t *testing.T) {
	var events []state.Event
	for i := range uint64(5) {
		errorText := fmt.Sprintf(`pods "web-1-b%dcdf" is forbidden`, i+4)
		if i == 4 {
			errorText = "other"
		}
		events = append(events, state.KeyTaken{Controller: "c", Queue: "q", Key: "shop/web", Sync: i + 1},
			state.KeyFinished{Controller: "c", Queue: "q", Key: "shop/web", Sync: i + 1, Failed: true, Error: errorText})
	}
	s := tell(events...)
	if len(s.Syncs) != 2 || s.Syncs[0].Repeat != 3 || s.Syncs[1].Error != "other" {
		t.Errorf("got %+v", s.Syncs)
	}
}

func TestStoryIsBounded(t *testing.T) {
	var events []state.Event
	for i := range uint64(maxStorySyncs + 3) {
		events = append(events, state.KeyTaken{Controller: "c", Queue: fmt.Sprint(i), Key: "shop/web", Sync: i + 1})
	}
	if s := tell(events...); len(s.Syncs) != maxStorySyncs || s.Left != 3 {
		t.Errorf("%d syncs, %d left out", len(s.Syncs), s.Left)
	}
}
