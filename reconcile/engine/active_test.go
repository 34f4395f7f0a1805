package engine

import (
	"maps"
	"slices"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// additions are the keys added so far, by "controller queue".
func additions(s *Engine) map[string]uint64 {
	out := map[string]uint64{}
	for _, q := range s.Journal().Flush().Queues.All() {
		out[q.Controller+" "+q.Name] += q.Adds
	}
	return out
}

// keyless lists the queues, of controllers that run, that no key was added to since
// before.
func keyless(s *Engine, before map[string]uint64) []string {
	now := additions(s)
	var out []string
	for _, status := range s.Manager().Statuses() {
		if status.Status == state.ControllerOff {
			continue
		}
		for _, queue := range status.Queues {
			if name := status.Controller + " " + queue; now[name] <= before[name] {
				out = append(out, name)
			}
		}
	}
	return out
}

// worksFor fails for each queue without keys and each wanted write that the API
// server has not stored.
func (l *live) worksFor(t *testing.T, s *Engine, before map[string]uint64) {
	t.Helper()
	for _, queue := range keyless(s, before) {
		if reason := keylessHere[queue]; reason == "" {
			t.Errorf("no key was added to the queue of %s after its workers began to wait", queue)
		}
	}
	undone := l.undone(t)
	for _, name := range slices.Sorted(maps.Keys(undone)) {
		for _, want := range undone[name] {
			if reason := undoneHere[name]; reason == "" {
				t.Errorf("scenario %s: the API server has no write %q; it has %v", name, want, l.log.Sets()[name])
			}
		}
	}
	if unknown := l.log.Unknown(); len(unknown) > 0 {
		t.Errorf("user agents that no account is known for: %v", unknown)
	}
}

// keylessHere are queues that these scenarios cannot give keys, with the reason.
var keylessHere = map[string]string{}

// undoneHere are scenarios whose wanted write controllers that run already do not do, with
// the reason.
var undoneHere = map[string]string{
	"service-gone-endpoints-left": "the controller looks for Endpoints without a Service at its start only",
	"volume-detached":             "the controller reads what is attached to nodes at its start only",
}
