package run

import (
	"context"
	"errors"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
)

// wait returns when the run is to end.
func (o *Options) wait(ctx context.Context, e *engine.Engine) error {
	switch {
	case o.UntilSettled:
		follow.ReportWaits(e, o.ErrOut)
		_, err := e.WaitSettled(ctx, o.Left(o.Timeout))
		return err
	case o.Duration > 0:
		began := time.Now()
		timer := time.NewTimer(o.Left(o.Duration))
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
