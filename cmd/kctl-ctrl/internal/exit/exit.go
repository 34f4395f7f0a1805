// Package exit has the exit codes, which are the same for every command, and the errors
// that lead to them. Code is the one place that prints an error and turns it into a code.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Exit codes, the same for every verb. They follow kubectl diff: 0 and 1 are
// answers, everything above is a failure, wrong flags included.
const (
	OK = 0
	// Changed: the verb that asks "would anything change?" says yes.
	Changed = 1
	Failed  = 2
	// Unsettled: the time given with --timeout ran out before the loops
	// came to rest.
	Unsettled = 3
	// Lost: active mode ended because the lease was lost.
	Lost = 4
	// Interrupted: ended by Ctrl-C or SIGTERM before the work was done.
	Interrupted = 130
)

// ErrChanged is diff's answer "yes": nothing is printed for it.
var ErrChanged = errors.New("changes")

// ErrInterrupted ends a verb that the user stopped.
var ErrInterrupted = errors.New("interrupted")

// Code is the one place that turns an error into an exit code, and the one
// that prints it.
func Code(err error, stderr io.Writer) int {
	var unsettled *settle.UnsettledError
	var command *child.ExitError
	var unstarted *child.StartError
	var lost *election.LostError
	switch {
	case err == nil:
		return OK
	case errors.Is(err, ErrChanged):
		return Changed
	case errors.As(err, &command):
		return command.Code
	case errors.As(err, &unstarted):
		fmt.Fprintln(stderr, "error:", Printable(err))
		return unstarted.Code
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return Interrupted
	case errors.As(err, &unsettled):
		fmt.Fprintln(stderr, "error:", Printable(err))
		for _, reason := range unsettled.Reasons {
			fmt.Fprintln(stderr, "  -", render.Sanitise(reason))
		}
		return Unsettled
	case errors.As(err, &lost):
		fmt.Fprintln(stderr, "error:", Printable(err))
		return Lost
	default:
		fmt.Fprintln(stderr, "error:", Printable(err))
		return Failed
	}
}

// Printable is an error's text for a terminal or the log of a CI job. Errors
// quote manifests and servers: nothing in them may act on what shows them. Lines
// are kept, and those after the first are indented, so that none of them can be
// taken for a command to the CI system.
func Printable(err error) string {
	return strings.ReplaceAll(render.SanitiseKeeping(err.Error(), render.KeepLines), "\n", "\n  ")
}
