package simulate_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/leaktest"
)

// TestStopLeavesNothing starts and stops the whole simulation against a real
// server. What may stay is the HTTP client's: connections that are kept for the
// next request, and the one goroutine of os/signal, which the scheduler's
// debugger wakes for good.
func TestStopLeavesNothing(t *testing.T) {
	cfg := config(t)
	verify := leaktest.Check(t,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("os/signal.loop"),
	)
	ctx, cancel := context.WithCancel(quiet(t))
	cluster, err := simulate.Start(ctx, simulate.Options{Config: cfg, Nodes: 2, Scheduler: true, Storage: true})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready", func() string { return strings.Join(cluster.Busy(), "; ") })
	cancel()
	cluster.Wait()
	verify()
}
