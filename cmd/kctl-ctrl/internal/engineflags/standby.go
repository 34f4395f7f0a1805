package engineflags

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// standBy bounds how long a run stands for election: --for and --timeout count from
// now on.
func (o *Options) standBy(ctx context.Context) (context.Context, context.CancelFunc) {
	o.Stood = time.Now()
	flag, bound := "for", o.Duration
	if o.UntilSettled {
		flag, bound = "timeout", o.Timeout
	}
	if bound <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, bound, fmt.Errorf("not elected within --%s=%s: allow more, or stop who holds it", flag, bound))
}

// Left is what standing by has left of a bound; a bound of zero is none.
func (o *Options) Left(bound time.Duration) time.Duration {
	if bound <= 0 || o.Stood.IsZero() {
		return bound
	}
	return cmp.Or(max(0, bound-time.Since(o.Stood)), 1)
}
