package engineflags

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// LogOf says where upstream's components log to.
func LogOf(l cliflags.Logs) engine.Log {
	spec := engine.Log{File: l.File, Verbosity: l.Verbosity}
	if l.File == "" {
		spec.Dir, _ = about.StateDir() // without one, nothing is logged
	}
	return spec
}

// stopWithin is how long stopping may take after the first Ctrl-C.
const stopWithin = 1800 * time.Millisecond

// ShutDown stops an engine and says on stderr what did not end in time.
func ShutDown(e *engine.Engine, stderr io.Writer) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), stopWithin, fmt.Errorf("%s are over", stopWithin))
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		fmt.Fprintln(stderr, "warning:", exit.Printable(err))
	}
	if e.AuditLogFull() {
		fmt.Fprintln(stderr, "warning: the audit log is incomplete: it reached --max-size")
	}
}

// Stopping says what a signal does to a run.
func Stopping(e *engine.Engine) string {
	const again = "; press Ctrl-C again to leave at once"
	switch snap := e.Journal().Snapshot(); {
	case e.Manager() != nil:
		return "stopping the loops" + again
	case snap.Election != nil && snap.Election.Phase == state.ElectionCandidate:
		return "not standing by any more" + again
	}
	return "stopping" + again
}
