package approve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestNothingLeavesWithoutAYes(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	done := w.start(w.create("web-1"))
	q := w.asked(1)[0]
	if q.Text != "create pods shop/web-1" || q.Controller != "replicaset-controller" || q.Cause.Key != "shop/web" || len(q.Diff) == 0 || !q.Approximate {
		t.Errorf("asked %+v", q)
	}
	if sent := w.left(); sent != "" {
		t.Errorf("sent before the answer: %s", sent)
	}
	w.answer(q.ID, state.AnswerYes)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if sent := w.left(); sent != "POST pods" {
		t.Errorf("sent %q", sent)
	}
	if got := w.last().Approval; got != "the user" {
		t.Errorf("recorded as approved by %q", got)
	}
	if want := "approval 1: create pods shop/web-1\napproval 1: approved by the user"; w.said() != want {
		t.Errorf("the journal says\n%s", w.said())
	}
	if err := w.gate.Answer(q.ID, state.AnswerYes); !errors.Is(err, ErrNoQuestion) {
		t.Errorf("a second answer: %v", err)
	}
}

// A skip is an error of the server's kind, never a conflict, and nothing asks the
// client to repeat it.
func TestSkipIsAnErrorInsideTheServer(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	for i := range 2 {
		done := w.start(w.create("web-1"))
		q := w.asked(1)[0]
		if q.Skipped != i {
			t.Errorf("asked as skipped %d times, want %d", q.Skipped, i)
		}
		w.answer(q.ID, state.AnswerSkip)
		err := <-done
		if _, delay := apierrors.SuggestsClientDelay(err); !Skipped(err) || !apierrors.IsInternalError(err) || apierrors.IsConflict(err) || delay ||
			!strings.Contains(err.Error(), "rejected by the user") {
			t.Errorf("answered with %v", err)
		}
	}
	if sent := w.left(); sent != "" {
		t.Errorf("sent %q", sent)
	}
	got := w.last()
	if got.Result != state.WriteRefused || got.Status != http.StatusInternalServerError || got.Approval != "" || got.Object.Name != "web-1" {
		t.Errorf("recorded %+v", got)
	}
	if !strings.Contains(w.said(), "approval 2: rejected by the user") {
		t.Errorf("the journal says\n%s", w.said())
	}
}

// What a client needs to live is not asked about and counts in no limit; the brake
// holds it all the same.
func TestUnasked(t *testing.T) {
	unasked := func(p guard.Pending) string {
		if p.Object().Name == "own" {
			return "its own"
		}
		return ""
	}
	w := newWorld(t, Options{Policy: policyOf(t, everything+"limits: {writesPerMinute: 2}\n"), Ask: true, Unasked: unasked})
	w.asClient("operator")
	for range 5 {
		w.passes(w.create("own"))
	}
	if got := w.last().Approval; got != "its own" || w.gate.Braked().On() {
		t.Errorf("approved by %q, the brake is %+v", got, w.gate.Braked())
	}
	w.left()
	w.gate.Brake("to look")
	done := w.start(w.create("own"))
	if q := w.asked(1)[0]; !q.Braked || w.left() != "" {
		t.Errorf("asked %+v", q)
	}
	w.gate.Release("the test")
	if err := <-done; err != nil {
		t.Error(err)
	}
	w.gate.Close()
	w.passes(w.create("own")) // a lease may be given up
	w.skips(w.create("other"), "the session is ending")
	w = newWorld(t, Options{Ask: true, Unasked: unasked})
	w.asClient("operator")
	w.gate.Brake("to look")
	done = w.start(w.create("own"))
	w.asked(1)
	w.gate.Close()
	if err := <-done; !Skipped(err) {
		t.Errorf("got %v", err)
	}
	w = newWorld(t, Options{Unasked: unasked})
	w.asClient("operator")
	w.passes(w.create("own"))
	w.skips(w.create("other"), "no policy is set")
}

// What has waited is looked at again: the answer was given for what was shown.
func TestAWriteThatWaitedIsLookedAtAgain(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	done := w.start(w.remove("web-1"))
	q := w.asked(1)[0]
	w.mu.Lock()
	w.pod = "8"
	w.mu.Unlock()
	w.answer(q.ID, state.AnswerYes)
	if err := <-done; !Skipped(err) || !strings.Contains(err.Error(), "approved but not sent: the object has changed meanwhile (rv 7→8)") {
		t.Errorf("got %v", err)
	}
	if sent := w.left(); sent != "" {
		t.Errorf("sent %q", sent)
	}
	if e := w.snapshot().Controls.NotSent; e == nil || e.NotSent != 1 || e.Text != "delete pods shop/web-1" || e.Reason != "the object has changed meanwhile (rv 7→8)" {
		t.Errorf("not sent: %+v", e)
	}
	done = w.start(w.remove("web-1"))
	w.answer(w.asked(1)[0].ID, state.AnswerYes)
	if err := <-done; err != nil || w.left() != "DELETE pods/web-1" {
		t.Errorf("unchanged: %v", err)
	}
}

// A request that its loop gives up is no question any more.
func TestAGivenUpRequestIsWithdrawn(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := w.startWith(ctx, w.create("web-1"))
	q := w.asked(1)[0]
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.asked(0)
	if err := w.gate.Answer(q.ID, state.AnswerYes); !errors.Is(err, ErrNoQuestion) {
		t.Error(err)
	}
	if w.left() != "" || !strings.Contains(w.said(), "approval 1: withdrawn") {
		t.Errorf("the journal says\n%s", w.said())
	}
}

// The end of the session waits for no answer, and lets nothing out.
func TestCloseSkips(t *testing.T) {
	w := newWorld(t, Options{Ask: true, Policy: policyOf(t, everything)})
	w.gate.Brake("to look")
	done := w.start(w.create("web-1"))
	w.asked(1)
	w.gate.Close()
	if err := <-done; !Skipped(err) || !strings.Contains(err.Error(), "session is ending") {
		t.Error(err)
	}
	w.gate.Release("nobody")
	w.skips(w.create("web-1"), "session is ending")
	w.skips(w.event("web-1"), "session is ending")
	if sent := w.left(); sent != "" {
		t.Errorf("sent %q", sent)
	}
}

const everything = `
allow:
- controllers: ["*"]
  verbs: [create, update, patch, apply, delete]
  kinds: ["*"]
  namespaces: ["*"]
  clusterScoped: true
`

func TestWithoutAskingThePolicyDecides(t *testing.T) {
	w := newWorld(t, Options{Policy: policyOf(t, `
allow:
- {controllers: [deployment], verbs: [create], kinds: ["*"], namespaces: ["*"]}
- {controllers: [replicaset], verbs: [create, patch], kinds: [Pod], namespaces: ["sh*"]}
`)})
	w.passes(w.create("web-1"))
	if got := w.last().Approval; got != "rule 2 of the policy" {
		t.Errorf("recorded as approved by %q", got)
	}
	w.skips(w.remove("web-1"), "rejected: no rule of the policy allows it")
	w.skips(otherController(newWorld(t, Options{})), "no policy is set")
	if sent := w.left(); sent != "POST pods" {
		t.Errorf("sent %q", sent)
	}
	if said := w.said(); said != "" {
		t.Errorf("the journal says\n%s", said)
	}
}

// With both, what no rule covers is asked.
func TestPolicyAndQuestions(t *testing.T) {
	w := newWorld(t, Options{Ask: true, Policy: policyOf(t, `
allow:
- {controllers: [replicaset], verbs: [create], kinds: [Pod], namespaces: [shop]}
`)})
	w.passes(w.create("web-1"))
	done := w.start(w.remove("web-1"))
	w.answer(w.asked(1)[0].ID, state.AnswerYes)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEventsFollowTheirWrite(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	w.skips(w.event("web-1"), "the write that it reports was not sent")
	done := w.start(w.create("web-1"))
	w.answer(w.asked(1)[0].ID, state.AnswerYes)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.passes(w.event("web-1"))
	if got := w.last().Approval; got != "the write that it reports" {
		t.Errorf("recorded as approved by %q", got)
	}
	w.passes(w.event("web")) // the object of the key
	w.skips(w.event("web-2"), "")
	w.as(syncOf("deployment-controller", "shop/web"))
	w.skips(w.event("web-1"), "") // another controller's
	w.as(syncOf("replicaset-controller", "shop/web"))
	done = w.start(w.create("web-1"))
	w.answer(w.asked(1)[0].ID, state.AnswerSkip)
	<-done
	w.skips(w.event("web-1"), "")
	w.asked(0)
}

// Events are deleted by loops, as the namespace controller does, and nobody tells
// anything by that: these are writes that are asked about and counted.
func TestDeletesOfEventsAreAskedAbout(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	w.as(syncOf("namespace-controller", "shop"))
	events := w.client.CoreV1().Events("shop")
	for text, write := range map[string]func(context.Context) error{
		"deletecollection events shop/": func(ctx context.Context) error {
			return events.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		"delete events shop/web-1.1": func(ctx context.Context) error { return events.Delete(ctx, "web-1.1", metav1.DeleteOptions{}) },
	} {
		done := w.start(write)
		q := w.asked(1)[0]
		if q.Text != text || q.Cause.Key != "shop" {
			t.Errorf("asked %+v", q)
		}
		w.answer(q.ID, state.AnswerSkip)
		if err := <-done; !Skipped(err) {
			t.Error(err)
		}
		if got := w.last().Cause; got.Key != "shop" {
			t.Errorf("recorded with the cause %+v", got)
		}
	}
	w = newWorld(t, Options{Policy: policyOf(t, everything+"limits: {deletesInTotal: 0}\n")})
	w.start(func(ctx context.Context) error {
		return w.client.CoreV1().Events("shop").Delete(ctx, "web-1.1", metav1.DeleteOptions{})
	})
	if q := w.asked(1)[0]; !q.Braked {
		t.Errorf("it waits as %+v", q)
	}
}

// The text of a write is hostile until it is on one line.
func TestNotesAreInert(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	w.as(syncOf("replicaset-controller", "shop/\x1b]0;x\a\nweb\u202e"))
	done := w.start(func(ctx context.Context) error {
		_, err := w.client.CoreV1().Pods("shop").Patch(ctx, "web-1", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"\u001b[2J"}}}`), metav1.PatchOptions{})
		return err
	})
	w.answer(w.asked(1)[0].ID, state.AnswerSkip)
	<-done
	for _, r := range strings.ReplaceAll(w.said(), "\n", "") {
		if !state.Printable(r) {
			t.Errorf("%q in %q", r, w.said())
		}
	}
}
