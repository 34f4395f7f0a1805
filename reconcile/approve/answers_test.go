package approve

import (
	"context"
	"errors"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// An answer for more than one write lets go what waits already and what comes
// later, and nothing else.
func TestAnswersForMore(t *testing.T) {
	for _, c := range []struct {
		answer state.Answer
		text   string
		// covered writes go, the others are asked.
		covered, others []func(*world) func(context.Context) error
	}{
		{state.AnswerKey, "all writes of replicaset-controller for shop/web",
			[]func(*world) func(context.Context) error{sameKey, sameKeyDelete},
			[]func(*world) func(context.Context) error{otherKey, otherController, noKey}},
		{state.AnswerController, "all writes of replicaset-controller",
			[]func(*world) func(context.Context) error{sameKey, sameKeyDelete, otherKey},
			[]func(*world) func(context.Context) error{otherController}},
		{state.AnswerVerb, "all create requests of any controller",
			[]func(*world) func(context.Context) error{sameKey, otherKey, otherController, noKey},
			[]func(*world) func(context.Context) error{sameKeyDelete, eviction}},
	} {
		t.Run(string(c.answer), func(t *testing.T) {
			w := newWorld(t, Options{Ask: true})
			first := w.start(w.create("web-1"))
			q := w.asked(1)[0]
			second := w.start(w.create("web-2"))
			w.asked(2)
			if got := q.Covers[c.answer]; got != c.text {
				t.Errorf("it would cover %q", got)
			}
			w.answer(q.ID, c.answer)
			for _, done := range []<-chan error{first, second} {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			for _, write := range c.covered {
				w.passes(write(w))
				if got := w.last().Approval; got != "the user: "+c.text {
					t.Errorf("recorded as approved by %q", got)
				}
			}
			for _, write := range c.others {
				done := w.start(write(w))
				other := w.asked(1)[0]
				w.answer(other.ID, state.AnswerSkip)
				if err := <-done; !Skipped(err) {
					t.Errorf("%s: %v", other.Text, err)
				}
			}
			if len(w.gate.Grants()) != 1 || !w.gate.Withdraw() || w.gate.Withdraw() {
				t.Error("the grant cannot be withdrawn once")
			}
			done := w.start(c.covered[0](w))
			w.answer(w.asked(1)[0].ID, state.AnswerSkip)
			if err := <-done; !Skipped(err) {
				t.Errorf("after the withdrawal: %v", err)
			}
		})
	}
}

func sameKey(w *world) func(context.Context) error {
	w.as(syncOf("replicaset-controller", "shop/web"))
	return w.create("web-3")
}

func sameKeyDelete(w *world) func(context.Context) error {
	w.as(syncOf("replicaset-controller", "shop/web"))
	return w.remove("web-1")
}

func otherKey(w *world) func(context.Context) error {
	w.as(syncOf("replicaset-controller", "shop/api"))
	return w.create("api-1")
}

func otherController(w *world) func(context.Context) error {
	w.as(syncOf("deployment-controller", "shop/web"))
	return w.create("web-4")
}

func noKey(w *world) func(context.Context) error {
	w.as(state.Cause{Kind: state.CauseTimer, Controller: "pod-garbage-collector-controller"})
	return w.create("web-5")
}

// An eviction is a create to the API, and takes a pod.
func eviction(w *world) func(context.Context) error {
	return func(ctx context.Context) error {
		return w.client.CoreV1().Pods("shop").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}})
	}
}

func TestNoKeyToApprove(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	w.as(state.Cause{Kind: state.CauseTimer, Controller: "pod-garbage-collector-controller"})
	w.start(w.create("")) // the server is to name it
	q := w.asked(1)[0]
	if err := w.gate.Answer(q.ID, state.AnswerKey); !errors.Is(err, ErrNoKey) || q.Covers[state.AnswerKey] != "" {
		t.Errorf("got %v, covers %q", err, q.Covers[state.AnswerKey])
	}
	if err := w.gate.Answer(q.ID, "perhaps"); err == nil || len(w.gate.Questions()) != 1 {
		t.Errorf("got %v", err)
	}
}

// Where no key is known, an answer for one is for the object.
func TestAnswerForAnObject(t *testing.T) {
	w := newWorld(t, Options{Ask: true})
	w.asClient("operator")
	done := w.start(w.create("web-1"))
	q := w.asked(1)[0]
	const covers = "all writes of operator to pods shop/web-1"
	if q.Controller != "operator" || q.Covers[state.AnswerKey] != covers || !strings.Contains(q.Client, "kubernetes/") {
		t.Errorf("asked %+v", q)
	}
	w.answer(q.ID, state.AnswerKey)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.passes(w.remove("web-1"))
	w.passes(eviction(w))
	if got := w.last().Approval; got != "the user: "+covers {
		t.Errorf("recorded as approved by %q", got)
	}
	for _, other := range []func(){
		func() { done = w.start(w.create("web-2")) },
		func() { w.asClient("another"); done = w.start(w.create("web-1")) },
		func() { w.asClient(""); done = w.start(sameKey(w)) },
	} {
		other()
		w.answer(w.asked(1)[0].ID, state.AnswerSkip)
		if err := <-done; !Skipped(err) {
			t.Errorf("got %v", err)
		}
	}
}
