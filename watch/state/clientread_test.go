package state

import (
	"testing"
	"time"
)

// A client's reads add up in its row, whatever they were of.
func TestReadsAreCounted(t *testing.T) {
	s := Fold(nil,
		Entry{Seq: 1, At: base, Event: ClientRead{Client: "operator", Verb: "list", Object: Ref{Version: "v1", Resource: "pods"}, Status: 200, Count: 1}},
		Entry{Seq: 2, At: base, Event: ClientRead{Client: "operator", Verb: "get", Status: 200, Count: 9}},
		Entry{Seq: 3, At: base, Event: ClientRead{Client: "kubectl", Verb: "get", Status: 404, Count: 1}},
	)
	c, ok := s.Controllers.Get("operator")
	if !ok || c.Reads != 10 || !c.LastRead.Equal(base) {
		t.Errorf("operator: %+v", c)
	}
	if n := s.Unknown.Len(); n != 0 {
		t.Errorf("%d types of events are unknown to the fold", n)
	}
	if n := s.Recent.Len(); n != 3 {
		t.Errorf("%d of 3 entries are among the recent ones", n)
	}
}

// What was counted before and is recorded at the end is no request of then.
func TestReadsCountedAtTheEnd(t *testing.T) {
	e := ClientRead{Client: "operator", Verb: "get", Status: 200, Count: 1, AtEnd: true}
	if got, want := DescribeParts(e).Text, "get discovery and other paths 200: 1 more since the last line, counted at the end"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s := Fold(nil,
		Entry{Seq: 1, At: base, Event: ClientRead{Client: "operator", Verb: "get", Status: 200, Count: 1}},
		Entry{Seq: 2, At: base.Add(time.Hour), Event: e},
	)
	if c := s.Controller("operator"); c.Reads != 2 || !c.LastRead.Equal(base) {
		t.Errorf("%d reads, the last at %s", c.Reads, c.LastRead)
	}
}
