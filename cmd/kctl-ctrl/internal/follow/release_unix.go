//go:build unix

package follow

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
)

// ReleaseBySignal has SIGUSR1 release the brake, for a run that nobody sits
// before; it returns what ends that.
func ReleaseBySignal(e *engine.Engine) (stop func()) {
	gate := e.Gate()
	if gate == nil {
		return func() {}
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for {
			select {
			case <-signals:
				gate.Release("SIGUSR1")
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}
