package approve

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestWritesPerMinutePutTheBrakeOn(t *testing.T) {
	w := newWorld(t, Options{Policy: policyOf(t, everything+"limits: {writesPerMinute: 3}\n")})
	for range 10 { // three within each minute pass
		for range 3 {
			w.passes(w.create("web-1"))
		}
		w.mu.Lock()
		w.now = w.now.Add(time.Minute)
		w.mu.Unlock()
	}
	if w.gate.Braked().On() {
		t.Fatalf("the brake is on: %+v", w.gate.Braked())
	}
	for range 3 {
		w.passes(w.create("web-1"))
	}
	_ = w.left()
	done := w.start(w.create("web-2"))
	if q := w.asked(1)[0]; !q.Braked {
		t.Errorf("it waits as %+v", q)
	}
	if b := w.gate.Braked(); b.Reason != "the limit of 3 writes per minute is reached" || !b.Since.Equal(w.now) {
		t.Errorf("the brake is %+v", b)
	}
	// It is not released by time, and stops Events as well.
	w.mu.Lock()
	w.now = w.now.Add(time.Hour)
	w.mu.Unlock()
	second := w.start(w.remove("web-1"))
	w.asked(2)
	w.skips(w.event("web-1"), "circuit breaker tripped")
	if sent := w.left(); sent != "" {
		t.Errorf("sent with the brake on: %s", sent)
	}
	if !w.gate.Release("the test") || w.gate.Release("the test") {
		t.Error("it is not released once")
	}
	if err := errors.Join(<-done, <-second); err != nil {
		t.Error(err)
	}
	if said := w.said(); !strings.Contains(said, "CIRCUIT BREAKER: no writes until it is released: the limit of 3 writes") || !strings.Contains(said, "the circuit breaker was released by the test") {
		t.Errorf("the journal says\n%s", said)
	}
}

func TestDeletesInTotalPutTheBrakeOn(t *testing.T) {
	w := newWorld(t, Options{Policy: policyOf(t, everything+"limits: {deletesInTotal: 2}\n")})
	w.passes(w.remove("web-1"))
	w.passes(eviction(w))
	w.passes(w.create("web-2"))
	for range 2 { // one lets nothing more out by release than the limit
		done := []<-chan error{w.start(w.remove("web-1")), w.start(w.remove("web-1")), w.start(w.remove("web-1"))}
		w.asked(3)
		_ = w.left()
		w.gate.Release("the test")
		w.asked(1)
		if n := strings.Count(strings.Join([]string{w.gate.Braked().Reason}, ""), "2 deletes"); n != 1 {
			t.Errorf("the brake is %+v", w.gate.Braked())
		}
		w.gate.Release("the test")
		for _, d := range done {
			if err := <-d; err != nil {
				t.Error(err)
			}
		}
		w.passes(w.remove("web-1"))
	}
}

// The brake holds the user's own answers too; they are not asked for twice.
func TestTheBrakeHoldsWhatWasApproved(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	w.gate.Brake("to look")
	done := w.start(w.create("web-1"))
	q := w.asked(1)[0]
	if q.Braked {
		t.Error("it waits for an answer, not for the brake")
	}
	w.answer(q.ID, state.AnswerYes)
	if q = w.asked(1)[0]; !q.Braked || w.left() != "" {
		t.Errorf("it waits as %+v", q)
	}
	w.gate.Release("the test")
	if err := <-done; err != nil || w.left() != "POST pods" {
		t.Errorf("after the release: %v", err)
	}
	// What a grant let by is asked again when that is withdrawn meanwhile.
	done = w.start(w.create("web-1"))
	w.answer(w.asked(1)[0].ID, state.AnswerController)
	<-done
	w.gate.Brake("to look")
	done = w.start(w.create("web-2"))
	w.asked(1)
	w.gate.Withdraw()
	w.gate.Release("the test")
	if q = w.asked(1)[0]; q.Braked {
		t.Errorf("it waits as %+v", q)
	}
	w.answer(q.ID, state.AnswerSkip)
	<-done
}

// Looking at a write once more takes its time: what happens meanwhile counts.
func TestTheBrakeHoldsWhatIsLookedAtAgain(t *testing.T) {
	for why, meanwhile := range map[string]func(*Gate){
		"the circuit breaker was tripped: to look": func(g *Gate) { g.Brake("to look") },
		"the session is ending":                    (*Gate).Close,
	} {
		w := newWorld(t, Options{Ask: true})
		done := w.start(w.remove("web-1"))
		q := w.asked(1)[0]
		w.mu.Lock()
		w.onRead = func() { meanwhile(w.gate) }
		w.mu.Unlock()
		w.answer(q.ID, state.AnswerYes)
		if err := <-done; !Skipped(err) || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want skipped: %s", err, why)
		}
		if sent := w.left(); sent != "" {
			t.Errorf("%s: sent %q", why, sent)
		}
	}
}
