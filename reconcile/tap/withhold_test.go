package tap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// canary is a Secret's value, which must not be recorded.
const canary = "hunter2-canary"

// syncError runs a sync and returns the error that is recorded of it.
func syncError(t *testing.T, work func(*Tap)) string {
	t.Helper()
	c, tp, j := tappedTarget(t)
	c.queue.Add("a")
	take(t, c.queue)
	work(tp)
	c.queue.Done("a")
	f := last[state.KeyFinished](t, j)
	if !f.Failed {
		t.Error("the sync has not failed")
	}
	return f.Error
}

func TestErrorsAboutSecretsAreWithheld(t *testing.T) {
	quoting := errors.New(`{"data":{"password":"` + canary + `"}}`)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "db", quoting)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "db",
		fielderrors.ErrorList{fielderrors.Invalid(fielderrors.NewPath("data"), canary, "bad")})
	pods := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("changed"))
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"as it is":                   {conflict, "an error about a Secret, withheld: Conflict"},
		"an invalid one":             {invalid, "an error about a Secret, withheld: Invalid"},
		"wrapped":                    {fmt.Errorf("update %s: %w", canary, conflict), "an error about a Secret, withheld: Conflict"},
		"in an aggregate":            {utilerrors.NewAggregate([]error{pods, fmt.Errorf("x: %w", conflict)}), "an error about a Secret, withheld: Conflict"},
		"joined":                     {errors.Join(errors.New("x"), conflict), "an error about a Secret, withheld: Conflict"},
		"wrapped by another answer":  {wrapping{pods, conflict}, "an error about a Secret, withheld: Conflict"},
		"an error about another one": {pods, pods.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for how, report := range map[string]func(*Tap){
					"Report":       func(tp *Tap) { tp.Report(tt.err) },
					"ErrorHandler": func(tp *Tap) { tp.ErrorHandler(t.Context(), tt.err, "Sync failed") },
					"Error":        func(tp *Tap) { tp.Logger(logr.Discard()).Error(tt.err, "Sync failed") },
					"Info":         func(tp *Tap) { tp.Logger(logr.Discard()).V(2).Info("Sync failed", "err", tt.err) },
				} {
					got := syncError(t, report)
					equal(t, how, got, tt.want)
					if strings.Contains(got, canary) {
						t.Errorf("%s: the Secret is recorded", how)
					}
				}
			})
		})
	}
}

// wrapping is an answer of the server that hides another.
type wrapping struct {
	*apierrors.StatusError
	inner error
}

func (w wrapping) Unwrap() error { return w.inner }

func TestWithholdErrors(t *testing.T) {
	flat := fmt.Errorf("sync: %v", canary) // nothing says what it is about
	const want = "an error after a failed write of a Secret, withheld"
	synctest.Test(t, func(t *testing.T) {
		equal(t, "on the worker", syncError(t, func(tp *Tap) {
			tp.WithholdErrors(tp.Cause())
			tp.Report(flat)
			tp.Report(flat)
		}), want+" (and 1 more)")
		equal(t, "with the server's reason", syncError(t, func(tp *Tap) {
			tp.WithholdErrors(tp.Cause())
			tp.Report(apierrors.NewBadRequest(canary))
		}), want+": BadRequest")
		equal(t, "from elsewhere", syncError(t, func(tp *Tap) {
			cause := tp.Cause()
			tp.Run(t.Context(), "other", func(context.Context) { tp.WithholdErrors(cause) })
			tp.Report(flat)
		}), want)
		equal(t, "in a goroutine of the sync", syncError(t, func(tp *Tap) {
			var child sync.WaitGroup
			child.Go(func() {
				tp.WithholdErrors(tp.Cause())
				tp.Report(flat)
			})
			child.Wait()
		}), want)
		other := errors.New("quota exceeded")
		equal(t, "what came before stays", syncError(t, func(tp *Tap) {
			tp.Report(other)
			tp.WithholdErrors(tp.Cause())
		}), "quota exceeded")
		equal(t, "another sync", syncError(t, func(tp *Tap) {
			cause := tp.Cause()
			cause.Sync++
			tp.WithholdErrors(cause)
			tp.WithholdErrors(state.Cause{Kind: state.CauseTimer, Controller: "ctl"})
			tp.Report(other)
		}), "quota exceeded")

		c, tp, j := tappedTarget(t)
		for _, want := range []string{want, "quota exceeded"} {
			c.queue.Add("a")
			take(t, c.queue)
			if want != "quota exceeded" {
				tp.WithholdErrors(tp.Cause())
			}
			tp.Report(other)
			c.queue.Done("a")
			equal(t, "a sync and the next of the same key", last[state.KeyFinished](t, j).Error, want)
		}
	})
}

// keptLines is the sink of a log that keeps what it is given.
type keptLines struct{ lines []string }

func (k *keptLines) Init(logr.RuntimeInfo)          {}
func (k *keptLines) Enabled(int) bool               { return true }
func (k *keptLines) WithValues(...any) logr.LogSink { return k }
func (k *keptLines) WithName(string) logr.LogSink   { return k }
func (k *keptLines) Info(_ int, msg string, values ...any) {
	k.lines = append(k.lines, fmt.Sprint(msg, values))
}
func (k *keptLines) Error(err error, msg string, values ...any) {
	k.lines = append(k.lines, fmt.Sprint(err, msg, values))
}

// What may quote a Secret is not in the log either.
func TestLogIsWithoutSecrets(t *testing.T) {
	kept := &keptLines{}
	logger := New(&journal{}).Logger(logr.New(kept))
	conflict := fmt.Errorf("update: %w", apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "db", errors.New(canary)))
	logger.Error(conflict, "sync failed", "err", conflict)
	logger.Info("sync failed", "err", conflict)
	logger.Info("Event occurred", "object", "shop/db", "kind", "Secret", "reason", "Bad", "message", canary)
	logger.Info("Event occurred", "object", "shop/web", "kind", "Pod", "reason", "Bad", "message", "of a pod")
	logger.Error(nil, "no error")
	text := strings.Join(kept.lines, "\n")
	if strings.Contains(text, canary) || !strings.Contains(text, "of a pod") || len(kept.lines) != 5 {
		t.Errorf("the log has\n%s", text)
	}
}
