// Package leaktest is goleak with patience.
package leaktest

import (
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Check notes which goroutines run. The function it returns fails t if others run
// that ignore does not allow.
//
// It gives what is ending a moment before it has goleak look: goleak v1.3.0
// panics over a stack so deep that the runtime elides frames of it, and encoding
// a pod as JSON is that deep.
func Check(t testing.TB, ignore ...goleak.Option) func() {
	before := runtime.NumGoroutine()
	ignore = append(ignore, goleak.IgnoreCurrent())
	return func() {
		t.Helper()
		for deadline := time.Now().Add(time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		goleak.VerifyNone(t, ignore...)
	}
}
