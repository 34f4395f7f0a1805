package engine

import (
	"cmp"
	"context"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// beforeWrite is the guard's hook: it holds what a breakpoint stops, and then has
// next, which may be nil, decide. Events are never held: their broadcaster writes
// one after the other, and the controller does not wait for them.
func (e *Engine) beforeWrite(next func(context.Context, guard.Pending) error) func(context.Context, guard.Pending) error {
	return func(ctx context.Context, w guard.Pending) error {
		if !w.IsEvent() {
			if err := e.hold(ctx, w); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		return next(ctx, w)
	}
}

// hold holds a write that a breakpoint stops. One that is to be stored has to be
// what it was when it is let go.
func (e *Engine) hold(ctx context.Context, w guard.Pending) error {
	cause := w.Cause()
	controller := cmp.Or(cause.Controller, w.Controller())
	held, was := false, guard.Preview{}
	err := e.tap.BeforeWrite(ctx, controller, cause, func() string {
		held = true
		if w.Mode() == state.ModeActive {
			was, _ = w.Preview(ctx) // without it, the write has changed
		}
		return w.String()
	})
	if err != nil || !held || w.Mode() != state.ModeActive {
		return err
	}
	if err := w.Unchanged(ctx, was); err != nil {
		reason := "it stood at a breakpoint, and was not sent: " + state.OneLine(err.Error())
		e.journal.Record(state.Note{Source: controller, Warning: true, Text: w.String() + ": " + reason})
		return approve.Skip(w, reason)
	}
	return nil
}
