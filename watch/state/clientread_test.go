package state

import "testing"

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
