package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The line of the brake says what follows from it, and what to do.
func TestBrakeLine(t *testing.T) {
	next := fmt.Sprintf("; 'kill -USR1 %d' releases it", os.Getpid())
	for name, c := range map[string]struct {
		leads, asks bool
		want        string
	}{
		"headless":           {false, false, "the test" + next},
		"headless, leading":  {true, false, "the test; " + keptLease + next},
		"asks, leading":      {true, true, "the test; " + keptLease},
		"asks, on a sandbox": {false, true, "the test"},
	} {
		s, err := testSession(t, sessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.decide(decision{ask: c.asks, policy: &approve.Policy{}})
		if c.leads {
			s.hub.Record(state.ElectionChanged{Phase: state.ElectionAcquired})
			s.hub.Flush()
		}
		s.approval.gate.Brake("the test")
		said := ""
		for entry := range s.hub.Flush().Recent.All() {
			if e, ok := entry.Event.(state.BreakerChanged); ok {
				said = state.DescribeParts(e).Text
			}
		}
		if want := "BRAKE: no write leaves any more, until it is released: " + c.want; said != want {
			t.Errorf("%s: %q, want %q", name, said, want)
		}
		s.shutDown(os.Stderr)
	}
}

// A question says what follows from its waiting.
func TestQuestionSaysWhatWaitingMeans(t *testing.T) {
	var out strings.Builder
	if err := render.Question(&out, state.Question{ID: 1}, render.QuestionOptions{Meanwhile: keptLease}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "  "+keptLease+"\n") {
		t.Error(out.String())
	}
}
