package guard_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var aPod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}

// holding is a guard.Options.Before that holds writes until they are let go.
type holding struct {
	held    chan string
	through chan error
}

func newHolding() *holding { return &holding{make(chan string, 10), make(chan error)} }

func (h *holding) before(ctx context.Context, p guard.Pending) error {
	h.held <- p.Controller() + ": " + p.String()
	select {
	case err := <-h.through:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *holding) into(o *guard.Options) { o.Before = h.before }

// A write that is held has neither left nor been answered.
func TestBeforeHolds(t *testing.T) {
	for _, mode := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer, state.ModeActive} {
		for _, contentType := range []string{typeJSON, typeProtobuf} {
			t.Run(string(mode)+"/"+contentType[12:], func(t *testing.T) {
				h := newHolding()
				w := newWorld(t, mode, contentType, h.into)
				done := make(chan error)
				go func() {
					_, err := w.typed.CoreV1().Pods("shop").Create(t.Context(), aPod, metav1.CreateOptions{})
					done <- err
				}()
				if got := <-h.held; got != "tester: create pods shop/web-1" {
					t.Errorf("held %q", got)
				}
				if _, err := w.typed.CoreV1().Pods("shop").List(t.Context(), metav1.ListOptions{}); err == nil || !apierrors.IsNotFound(err) {
					t.Errorf("a read beside it: %v", err)
				}
				if n := len(w.server.writes()) + len(w.journal.writes()); n != 0 {
					t.Errorf("%d writes went on before they were let go", n)
				}
				h.through <- nil
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				want := 1
				if mode == state.ModeDryRunClient {
					want = 0
				}
				if got := len(w.server.writes()); got != want {
					t.Errorf("%d writes arrived, want %d", got, want)
				}
				if got := w.journal.last(t); got.Object.Name != "web-1" || got.Result == state.WriteFailed {
					t.Errorf("recorded %+v", got)
				}
			})
		}
	}
}

// A request that is given up while it is held does not leave.
func TestBeforeEndsWithTheRequest(t *testing.T) {
	h := newHolding()
	w := newWorld(t, state.ModeActive, typeJSON, h.into)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.typed.CoreV1().Pods("shop").Delete(ctx, "web-1", metav1.DeleteOptions{}) }()
	<-h.held
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := len(w.server.writes()); n != 0 {
		t.Errorf("%d writes arrived", n)
	}
	if got := w.journal.last(t); got.Result != state.WriteFailed || got.Verb != "delete" {
		t.Errorf("recorded %+v", got)
	}
}

// An error with an API status is the answer; it does not leave either.
func TestBeforeRefuses(t *testing.T) {
	w := newWorld(t, state.ModeActive, typeProtobuf, func(o *guard.Options) {
		o.Before = func(context.Context, guard.Pending) error {
			return apierrors.NewInternalError(errors.New("skipped by user"))
		}
	})
	_, err := w.typed.CoreV1().Pods("shop").Create(t.Context(), aPod, metav1.CreateOptions{})
	if !apierrors.IsInternalError(err) {
		t.Errorf("error %v", err)
	}
	if n := len(w.server.writes()); n != 0 {
		t.Errorf("%d writes arrived", n)
	}
	if got := w.journal.last(t); got.Result != state.WriteRefused || got.Status != http.StatusInternalServerError || !strings.Contains(got.Message, "skipped by user") || got.Object.Name != "web-1" {
		t.Errorf("recorded %+v", got)
	}
}

// What is refused anyway, and what is no write, is not held.
func TestBeforeIsNotAsked(t *testing.T) {
	w := newWorld(t, state.ModeReadOnly, typeJSON, func(o *guard.Options) {
		o.Before = func(_ context.Context, p guard.Pending) error {
			t.Errorf("held %v", p)
			return nil
		}
	})
	if _, err := w.typed.CoreV1().Pods("shop").Create(t.Context(), aPod, metav1.CreateOptions{}); !guard.Refused(err) {
		t.Errorf("error %v", err)
	}
}
