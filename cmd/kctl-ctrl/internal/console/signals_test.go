package console

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
)

// A second signal that comes with the first, as timeout(1) sends it, is no wish to
// leave at once.
func TestTwoSignalsAtOnceAreOne(t *testing.T) {
	signals, late, done := make(chan os.Signal), make(chan time.Time, 1), make(chan struct{})
	sinces := make(chan time.Duration, 3) // of the signals, in order
	sinces <- 0
	sinces <- SameRequest - 1
	sinces <- SameRequest
	type answer struct {
		word  string
		leave bool
	}
	answers := make(chan answer)
	ask := func() {
		word, leave := leaves(signals, func() time.Duration { return <-sinces }, late, done)
		answers <- answer{word, leave}
	}
	go ask()
	for range 2 {
		select {
		case signals <- syscall.SIGTERM:
		case got := <-answers:
			t.Fatalf("a signal that came with the first: %+v", got)
		}
	}
	signals <- syscall.SIGTERM
	if got := <-answers; !got.leave || got.word != "" {
		t.Errorf("a later one: %+v", got)
	}
	late <- time.Time{}
	go ask()
	if got := <-answers; !got.leave || got.word == "" {
		t.Errorf("what does not end: %+v", got)
	}
	close(done)
	go ask()
	if got := <-answers; got.leave {
		t.Errorf("what has ended: %+v", got)
	}
}

// Who asks to leave first says with which code; who cannot be heard asks in vain.
func TestLeave(t *testing.T) {
	Leave(t.Context(), exit.Failed)
	ctx, left := Leavable(t.Context())
	within, cancel := context.WithCancel(ctx)
	cancel()
	Leave(within, exit.Interrupted)
	Leave(ctx, exit.Failed)
	if code := <-left; code != exit.Interrupted {
		t.Errorf("left with %d", code)
	}
}
