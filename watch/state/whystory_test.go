package state

import (
	"fmt"
	"testing"
)

func tell(events ...Event) WhyStory {
	t := NewStoryTeller(func(controller, queue, key string) bool { return key == "shop/web" || key == "shop/web-1" })
	for i, e := range events {
		t.Add(Entry{Seq: uint64(i + 1), Event: e})
	}
	return t.Story()
}

func TestStory(t *testing.T) {
	listed := Cause{Kind: CauseEvent, Object: &Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}, Change: ChangeListed}
	sync := Cause{Kind: CauseSync, Controller: "deployment", Queue: "deployment", Key: "shop/web", Sync: 7}
	rs := Ref{Group: "apps", Resource: "replicasets", Namespace: "shop", Name: "web-1"}
	pods := func(name string) Event {
		return WriteFinished{Verb: "create", Object: Ref{Resource: "pods", Namespace: "shop", Name: name}, Result: WriteDry,
			Cause: Cause{Kind: CauseSync, Controller: "replicaset", Queue: "replicaset", Key: "shop/web-1", Sync: 8}, Diff: []FieldChange{{Path: "metadata.name", New: name}}}
	}
	s := tell(
		KeyAdded{Controller: "deployment", Queue: "deployment", Key: "shop/web", Cause: listed},
		KeyAdded{Controller: "deployment", Queue: "deployment", Key: "shop/web", Cause: listed},
		KeyAdded{Controller: "deployment", Queue: "deployment", Key: "shop/other", Cause: listed},
		KeyTaken{Controller: "deployment", Queue: "deployment", Key: "shop/web", Sync: 7},
		KeyTaken{Controller: "deployment", Queue: "deployment", Key: "shop/other", Sync: 9},
		KeyTaken{Controller: "replicaset", Queue: "replicaset", Key: "shop/web-1", Sync: 8},
		WriteFinished{Verb: "update", Object: rs, Result: WriteDry, Cause: sync, Diff: []FieldChange{{Path: "spec.replicas", Old: "0", New: "2"}}},
		WriteFinished{Verb: "update", Object: rs, Result: WriteDry, Cause: Cause{Kind: CauseSync, Sync: 9}},
		WriteFinished{Verb: "create", Object: Ref{Resource: "events"}, Result: WriteDry, Cause: Cause{Kind: CauseTimer}},
		pods("web-1-a"), pods("web-1-b"),
		KeyFinished{Controller: "deployment", Key: "shop/web", Sync: 7, Failed: true, Error: "conflict"},
		KeyFinished{Controller: "replicaset", Key: "shop/web-1", Sync: 8},
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
	var events []Event
	for i := range uint64(5) {
		errorText := fmt.Sprintf(`pods "web-1-b%dcdf" is forbidden`, i+4)
		if i == 4 {
			errorText = "other"
		}
		events = append(events, KeyTaken{Controller: "c", Queue: "q", Key: "shop/web", Sync: i + 1},
			KeyFinished{Controller: "c", Queue: "q", Key: "shop/web", Sync: i + 1, Failed: true, Error: errorText})
	}
	s := tell(events...)
	if len(s.Syncs) != 2 || s.Syncs[0].Repeat != 3 || s.Syncs[1].Error != "other" {
		t.Errorf("got %+v", s.Syncs)
	}
}

func TestStoryIsBounded(t *testing.T) {
	var events []Event
	for i := range uint64(maxStorySyncs + 3) {
		events = append(events, KeyTaken{Controller: "c", Queue: fmt.Sprint(i), Key: "shop/web", Sync: i + 1})
	}
	if s := tell(events...); len(s.Syncs) != maxStorySyncs || s.Left != 3 {
		t.Errorf("%d syncs, %d left out", len(s.Syncs), s.Left)
	}
}
