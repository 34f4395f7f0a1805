package informers

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var pods = owners.Type{Version: "v1", Resource: "pods", Kind: "Pod", Namespaced: true}

// journal keeps what is recorded.
type journal struct {
	mu     sync.Mutex
	events []state.Event
}

func (j *journal) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// lines are the events in words.
func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for _, e := range j.events {
		switch e := e.(type) {
		case state.InformerChanged:
			lines = append(lines, fmt.Sprintf("%s %s", e.Informer, e.Status))
		case state.ObjectChanged:
			lines = append(lines, fmt.Sprintf("%s %s", e.Change, e.Object.Key()))
		case state.Gap:
			lines = append(lines, "gap "+e.Informer)
		}
	}
	return lines
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, condition)
}

func within(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func newSet(t testing.TB, s *apiServer, o Options) (*Set, *journal) {
	t.Helper()
	j := &journal{}
	o.Recorder = j
	set, err := New(s.config(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return set, j
}

func open(t testing.TB, set *Set, typ owners.Type, contents Contents) *Handle {
	t.Helper()
	h, err := set.Open(typ, "", contents)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func synced(h *Handle) func() bool {
	return func() bool { return h.Stats().Status == state.InformerSynced }
}

func names(t testing.TB, h *Handle, q Query) string {
	t.Helper()
	w, err := h.Window(q, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range w.Rows {
		out = append(out, r.Name)
	}
	return strings.Join(out, " ")
}
