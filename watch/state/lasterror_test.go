package state

import (
	"testing"
	"time"
)

// What a later success cleared is known as such, of the controller and of the key;
// another key that still fails takes its place.
func TestErrorsAreCleared(t *testing.T) {
	var seq uint64
	var s *Snapshot
	happens := func(events ...Event) {
		for _, e := range events {
			seq++
			s = Fold(s, Entry{Seq: seq, At: base.Add(time.Duration(seq) * time.Second), Event: e})
		}
	}
	var sync uint64
	syncs := func(key, failure string) {
		sync++
		happens(
			KeyAdded{Controller: "c", Queue: "q", Key: key},
			KeyTaken{Controller: "c", Queue: "q", Key: key, Sync: sync},
		)
		if failure != "" {
			happens(KeyAdded{Controller: "c", Queue: "q", Key: key, How: "AddRateLimited", Delay: time.Hour, Retries: 1})
		}
		happens(
			KeyFinished{Controller: "c", Queue: "q", Key: key, Sync: sync, Failed: failure != "", Error: failure},
		)
	}
	want := func(what, text, key string, stands bool) {
		t.Helper()
		got := s.LastErrorOf(s.Controller("c"))
		if got.Text != text || got.Key != key || got.Stands() != stands {
			t.Errorf("%s: %+v, want %q of %q, stands: %v", what, got, text, key, stands)
		}
	}
	happens(ControllerChanged{Controller: "c", Status: ControllerRunning})
	want("at first", "", "", false)
	syncs("a", "broken")
	want("a fails", "broken", "a", true)
	syncs("b", "bad")
	want("b fails too", "bad", "b", true)
	syncs("b", "")
	want("b is well again, a is not", "broken", "a", true)
	if k := s.Key("c", "q", "b"); k.LastError != "bad" || k.LastErrorCleared.IsZero() {
		t.Errorf("key b: %q, cleared at %v", k.LastError, k.LastErrorCleared)
	}
	syncs("a", "")
	want("both are well again", "bad", "b", false)
	syncs("b", "bad again")
	want("b fails again", "bad again", "b", true)
	if k := s.Key("c", "q", "b"); !k.LastErrorCleared.IsZero() {
		t.Errorf("key b fails and its error is marked as cleared")
	}

	// Writes of no sync: of an object, and of Events, which hide nothing else.
	write := func(resource, verb string, result WriteResult, message string) {
		happens(WriteFinished{Controller: "c", Verb: verb, Object: Ref{Version: "v1", Resource: resource, Namespace: "n", Name: "x"}, Result: result, Message: message, Cause: Cause{Kind: CauseUnknown}})
	}
	write("events", "patch", WriteFailed, "no such event")
	want("an Event cannot be written", "bad again", "b", true)
	syncs("b", "")
	write("events", "patch", WriteFailed, "no such event")
	want("nothing else is wrong", "no such event", "events n/x", true)
	write("pods", "update", WriteFailed, "conflict")
	want("a write fails", "conflict", "pods n/x", true)
	write("pods", "update", WriteDone, "")
	want("and succeeds", "conflict", "pods n/x", false)
	happens(ControllerChanged{Controller: "c", Status: ControllerFailed, Reason: "no watch"})
	want("the loop fails", "no watch", "", true)
	happens(ControllerChanged{Controller: "c", Status: ControllerRunning})
	want("the loop runs", "no watch", "", false)
}
