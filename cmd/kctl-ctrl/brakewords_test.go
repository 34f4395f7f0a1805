package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
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
		"headless, leading":  {true, false, "the test; " + engine.KeptLease + next},
		"asks, leading":      {true, true, "the test; " + engine.KeptLease},
		"asks, on a sandbox": {false, true, "the test"},
	} {
		s, err := testEngine(t, engine.Spec{Approvals: engine.Approvals{Ask: c.asks, Policy: &approve.Policy{}, Signalled: true}})
		if err != nil {
			t.Fatal(err)
		}
		if c.leads {
			s.Journal().Record(state.ElectionChanged{Phase: state.ElectionAcquired})
			s.Journal().Flush()
		}
		s.Gate().Brake("the test")
		said := ""
		for entry := range s.Journal().Flush().Recent.All() {
			if e, ok := entry.Event.(state.BreakerChanged); ok {
				said = state.DescribeParts(e).Text
			}
		}
		if want := "CIRCUIT BREAKER: no writes until it is released: " + c.want; said != want {
			t.Errorf("%s: %q, want %q", name, said, want)
		}
		engineflags.ShutDown(s, os.Stderr)
	}
}

// A question says what follows from its waiting.
func TestQuestionSaysWhatWaitingMeans(t *testing.T) {
	var out strings.Builder
	if err := render.Question(&out, state.Question{ID: 1}, render.QuestionOptions{Meanwhile: engine.KeptLease}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "  "+engine.KeptLease+"\n") {
		t.Error(out.String())
	}
}
