package main

import (
	"context"
	"errors"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
)

// wait returns when the run is to end.
func (o *runCommand) wait(ctx context.Context, e *engine.Engine) error {
	switch {
	case o.untilSettled:
		reportWaits(e, o.ErrOut)
		_, err := e.WaitSettled(ctx, o.left(o.timeout))
		return err
	case o.duration > 0:
		began := time.Now()
		timer := time.NewTimer(o.left(o.duration))
		defer timer.Stop()
		select {
		case <-timer.C:
			return e.CheckSynced(began)
		case <-e.Lost():
			return e.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	default:
		select {
		case <-e.Lost():
			return e.Err()
		case <-ctx.Done():
		}
		if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
			return nil // this is how a run without an end is ended
		}
		return context.Cause(ctx)
	}
}
