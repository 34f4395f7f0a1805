package exec

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// PassedSignals go to the command of exec.
func PassedSignals() []os.Signal {
	return console.UnlessNohup([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2})
}

// signalPasser hands this process's signals to the command while it runs. Before,
// the first one ends the context.
type signalPasser struct {
	signals chan os.Signal
	done    chan struct{}
	cancel  context.CancelCauseFunc

	child.Signals
}

// PassSignals begins to catch signals; stop ends that, and the context. Where there is
// no command to have them, they end this program as those of console.WithSignals do.
func PassSignals(parent context.Context, stderr io.Writer, on ...os.Signal) (context.Context, *signalPasser) {
	ctx, cancel := context.WithCancelCause(parent)
	p := &signalPasser{signals: make(chan os.Signal, 8), done: make(chan struct{}), cancel: cancel}
	if len(on) > 0 { // none means all to Notify, the end of each child too
		signal.Notify(p.signals, on...)
	}
	go func() {
		var late <-chan time.Time
		var said time.Time
		for {
			select {
			case s := <-p.signals:
				switch {
				case p.Pass(s):
				case ctx.Err() == nil:
					late = time.After(commandEndsWithin)
					console.SayWithin(stderr, "stopping; once more to leave at once")
					cancel(exit.ErrInterrupted)
					said = time.Now()
				case time.Since(said) >= console.SameRequest:
					console.Leave(ctx, exit.Interrupted)
				}
			case <-late:
				console.SayWithin(stderr, console.LeftBehind)
				console.Leave(ctx, exit.Interrupted)
			case <-p.done:
				return
			}
		}
	}()
	return ctx, p
}

// Stop ends the catching of signals, and the context.
func (p *signalPasser) Stop() {
	signal.Stop(p.signals)
	close(p.done)
	p.cancel(context.Canceled)
}

// commandEndsWithin is console.EndsWithin where there may be a command to wait for.
const commandEndsWithin = console.EndsWithin + child.EndWithin + child.OutputWithin

// UserCommand is exec's command.
type UserCommand struct {
	child.Command
	// output is the file that it prints to, by its name outputPath; nil where that are
	// the streams.
	output     io.Closer
	outputPath string
}

// SendOutput sends what it prints to a file, which is its own from now on.
func (c *UserCommand) SendOutput(file io.WriteCloser, path string) {
	c.output, c.outputPath = file, path
	c.Out, c.ErrOut = render.Bare(file), render.Bare(file)
}

// Close closes the file of its output.
func (c *UserCommand) Close() {
	if c.output != nil {
		_ = c.output.Close()
	}
}
