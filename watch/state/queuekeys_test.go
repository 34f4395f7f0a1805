package state

import (
	"reflect"
	"strings"
	"testing"
)

func TestQueueKeysObject(t *testing.T) {
	claims := QueueKeys{
		Types:    []string{"resourceclaims.resource.k8s.io", "pods"},
		Prefixes: map[string]string{"resourceclaims.resource.k8s.io": "claim:", "pods": "pod:"},
	}
	for _, tt := range []struct {
		keys            QueueKeys
		key, typ, named string
	}{
		{QueueKeys{Types: []string{"deployments.apps"}}, "shop/web", "deployments.apps", "shop/web"},
		{QueueKeys{Types: []string{"nodes"}, Feeds: true}, "node-1", "nodes", "node-1"},
		{claims, "claim:shop/gpu", "resourceclaims.resource.k8s.io", "shop/gpu"},
		{claims, "pod:shop/web-0", "pods", "shop/web-0"},
		{claims, "podgroup:shop/all", "", ""},
		{QueueKeys{Types: []string{"pods"}}, "shop/{app=web}", "", ""},
		{QueueKeys{Types: []string{"clustertrustbundles.certificates.k8s.io"}}, "", "", ""},
		{QueueKeys{Any: true}, "Pod shop/web-0", "", ""},
		{QueueKeys{Feeds: true}, "add Pod shop/web-0", "", ""},
	} {
		typ, name, ok := tt.keys.Object(tt.key)
		if !ok {
			typ, name = "", ""
		}
		if typ != tt.typ || name != tt.named || ok != (tt.typ != "") {
			t.Errorf("%q is %q %q (%t), want %q %q", tt.key, typ, name, ok, tt.typ, tt.named)
		}
	}
}

// The object of a key is found by what the journal says of the queue alone, also by
// who opens it in the middle.
func TestKeyObject(t *testing.T) {
	pod := Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: "web-0", UID: "u1"}
	s := NewSnapshot(Limits{})
	seq := uint64(0)
	happens := func(e Event) {
		seq++
		s = Fold(s, Entry{Seq: seq, At: base, Event: e})
	}
	happens(ControllerChanged{Controller: "c", Status: ControllerStarting, Queues: []string{"any", "d", "p"}, Keys: []QueueKeys{
		{Queue: "d", Types: []string{"deployments.apps"}}, {Queue: "p", Types: []string{"pods"}}, {Queue: "any", Any: true},
	}})
	happens(ControllerChanged{Controller: "c", Status: ControllerRunning, Queues: []string{"any", "d", "p"}})
	happens(KeyAdded{Controller: "c", Queue: "d", Key: "shop/web"})
	happens(KeyAdded{Controller: "c", Queue: "p", Key: "shop/web-0", Cause: Cause{Kind: CauseEvent, Object: &pod}})
	happens(KeyAdded{Controller: "c", Queue: "any", Key: "Pod shop/web-0"})
	happens(KeyAdded{Controller: "old", Queue: "p", Key: "shop/web-0", Cause: Cause{Kind: CauseEvent, Object: &pod}})
	want := map[string]Ref{
		KeyID("c", "d", "shop/web"):         {Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"},
		KeyID("c", "p", "shop/web-0"):       pod,
		KeyID("c", "any", "Pod shop/web-0"): {},
		KeyID("old", "p", "shop/web-0"):     pod,
	}
	again := NewSnapshot(Limits{})
	for piece := range s.Checkpoint() {
		again = Fold(again, Entry{Seq: s.Seq, At: s.At, Event: piece})
	}
	for name, s := range map[string]*Snapshot{"folded": s, "from a checkpoint": again} {
		got := map[string]Ref{}
		for id, k := range s.Keys.All() {
			got[id] = s.KeyObject(k)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
}

// What is kept of a recording's is bounded.
func TestQueueKeysAreBounded(t *testing.T) {
	long := strings.Repeat("x", 5000)
	many := make([]string, 1000)
	for i := range many {
		many[i] = long
	}
	s := Fold(NewSnapshot(Limits{Queues: 2}), Entry{Seq: 1, Event: ControllerChanged{Controller: "c", Keys: []QueueKeys{
		{Queue: long, Types: many, Prefixes: map[string]string{long: long, "other": long}}, {Queue: "b"}, {Queue: "c"},
	}}})
	c, _ := s.Controllers.Get("c")
	if n := len(c.QueueKeys); n != 2 {
		t.Errorf("%d queues are kept", n)
	}
	q := c.QueueKeys[0]
	if len(q.Queue) > 2000 || len(q.Types) != maxKeyTypes || len(q.Types[0]) > 2000 || len(q.Prefixes) != 1 {
		t.Errorf("kept: a name of %d bytes, %d types of %d bytes, %d prefixes", len(q.Queue), len(q.Types), len(q.Types[0]), len(q.Prefixes))
	}
}
