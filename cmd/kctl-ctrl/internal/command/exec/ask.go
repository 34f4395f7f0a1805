package exec

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
)

// CommandAsking is who is asked about the writes of exec's command, if anybody is.
type CommandAsking struct {
	engine.Approvals
	// tty is the terminal on which it is asked line by line. Standard input and
	// output are the command's.
	tty *os.File
}

// asking reads the policy, and finds the terminal to ask on: the screen has one.
func (o *Options) asking() (*CommandAsking, error) {
	a := &CommandAsking{}
	terminal := o.screen
	if o.approval.Ask && !o.screen {
		var err error
		if a.tty, err = os.OpenFile("/dev/tty", os.O_RDWR, 0); err != nil && o.approval.Policy == "" {
			return nil, errors.New("--ask needs a terminal to ask on, and this process has none (/dev/tty): run it on one, or say with --approve-policy FILE what may be written")
		}
		terminal = err == nil
	}
	var err error
	if a.Approvals, err = o.approval.LoadFor(terminal, engineflags.ClientName); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *CommandAsking) close() {
	if a.tty != nil {
		_ = a.tty.Close()
	}
}

// start asks on the terminal until the returned wait, where it is to be asked there.
// Leaving ends the context with child.ErrLeft.
func (a *CommandAsking) start(ctx context.Context, e *engine.Engine, journal *follow.Printer) (_ context.Context, wait func()) {
	if a.tty == nil || !a.Ask {
		return ctx, func() {}
	}
	asked, leave := context.WithCancelCause(ctx)
	quit := func(error) {
		leave(child.ErrLeft)
		e.Gate().Close() // nothing more is written
	}
	streams := genericiooptions.IOStreams{In: a.tty, Out: a.tty, ErrOut: a.tty}
	return asked, follow.Ask(asked, e, journal, streams, quit)
}

// passed are the signals that the command gets: all but the one that releases the
// brake, which only a policy puts on here.
func (a *CommandAsking) passed(all []os.Signal) []os.Signal {
	if a.Policy == nil {
		return all
	}
	var out []os.Signal
	for _, s := range all {
		if s != syscall.SIGUSR1 {
			out = append(out, s)
		}
	}
	return out
}

// input is the command's standard input: none where what is typed are answers.
func (a *CommandAsking) input(in io.Reader) io.Reader {
	if a.tty != nil && console.IsTerminal(in) {
		return nil
	}
	return in
}
