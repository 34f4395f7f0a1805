package main

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// standBy bounds how long a run stands for election: --for and --timeout count from
// now on.
func (o *runOptions) standBy(ctx context.Context) (context.Context, context.CancelFunc) {
	o.stood = time.Now()
	flag, bound := "for", o.duration
	if o.untilSettled {
		flag, bound = "timeout", o.timeout
	}
	if bound <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, bound, fmt.Errorf("not elected within --%s=%s: allow more, or stop who holds it", flag, bound))
}

// left is what standing by has left of a bound; a bound of zero is none.
func (o *runOptions) left(bound time.Duration) time.Duration {
	if bound <= 0 || o.stood.IsZero() {
		return bound
	}
	return cmp.Or(max(0, bound-time.Since(o.stood)), 1)
}
