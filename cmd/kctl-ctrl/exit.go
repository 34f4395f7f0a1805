package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Exit codes, the same for every verb. They follow kubectl diff: 0 and 1 are
// answers, everything above is a failure, wrong flags included.
const (
	exitOK = 0
	// exitChanged: the verb that asks "would anything change?" says yes.
	exitChanged = 1
	exitError   = 2
	// exitUnsettled: the time given with --timeout ran out before the loops
	// came to rest.
	exitUnsettled = 3
	// exitLost: active mode ended because the lease was lost.
	exitLost = 4
	// exitInterrupted: ended by Ctrl-C or SIGTERM before the work was done.
	exitInterrupted = 130
)

// errChanged is diff's answer "yes": nothing is printed for it.
var errChanged = errors.New("changes")

// errInterrupted ends a verb that the user stopped.
var errInterrupted = errors.New("interrupted")

// exitCode is the one place that turns an error into an exit code, and the one
// that prints it.
func exitCode(err error, stderr io.Writer) int {
	var unsettled *unsettledError
	var command *child.ExitError
	var unstarted *child.StartError
	var lost *election.LostError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errChanged):
		return exitChanged
	case errors.As(err, &command):
		return command.Code
	case errors.As(err, &unstarted):
		fmt.Fprintln(stderr, "error:", printable(err))
		return unstarted.Code
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &unsettled):
		fmt.Fprintln(stderr, "error:", printable(err))
		for _, reason := range unsettled.reasons {
			fmt.Fprintln(stderr, "  -", render.Sanitise(reason))
		}
		return exitUnsettled
	case errors.As(err, &lost):
		fmt.Fprintln(stderr, "error:", printable(err))
		return exitLost
	default:
		fmt.Fprintln(stderr, "error:", printable(err))
		return exitError
	}
}

// printable is an error's text for a terminal or the log of a CI job. Errors
// quote manifests and servers: nothing in them may act on what shows them. Lines
// are kept, and those after the first are indented, so that none of them can be
// taken for a command to the CI system.
func printable(err error) string {
	return strings.ReplaceAll(render.SanitiseKeeping(err.Error(), render.KeepLines), "\n", "\n  ")
}
