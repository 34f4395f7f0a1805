package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// passedSignals go to the command of exec.
func passedSignals() []os.Signal {
	return unlessNohup([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2})
}

// signalPasser hands this process's signals to the command while it runs. Before,
// the first one ends the context.
type signalPasser struct {
	signals chan os.Signal
	done    chan struct{}
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	family *commandFamily
}

// passSignals begins to catch signals; stop ends that, and the context. Where there is
// no command to have them, they end this program as those of withSignals do.
func passSignals(parent context.Context, stderr io.Writer, on ...os.Signal) (context.Context, *signalPasser) {
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
				case p.pass(s):
				case ctx.Err() == nil:
					late = time.After(commandEndsWithin)
					sayWithin(stderr, "stopping; once more to leave at once")
					cancel(errInterrupted)
					said = time.Now()
				case time.Since(said) >= sameRequest:
					exitProcess(exitInterrupted)
				}
			case <-late:
				sayWithin(stderr, leftBehind)
				exitProcess(exitInterrupted)
			case <-p.done:
				return
			}
		}
	}()
	return ctx, p
}

// pass reports whether there is a command to have the signal. What the terminal
// sends to its foreground, the command has already got.
func (p *signalPasser) pass(s os.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.family == nil {
		return false
	}
	if p.family.apart || (s != os.Interrupt && s != syscall.SIGQUIT) || !inForeground() {
		p.family.signal(s)
	}
	return true
}

// start starts the command, to which the signals go from now on. One that comes
// meanwhile waits: it is for the command already.
func (p *signalPasser) start(command *exec.Cmd, apart bool) (*commandFamily, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := command.Start(); err != nil {
		return nil, err
	}
	p.family = &commandFamily{process: command.Process, apart: apart}
	return p.family, nil
}

// ended says that there is no command any more.
func (p *signalPasser) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.family = nil
}

func (p *signalPasser) stop() {
	signal.Stop(p.signals)
	close(p.done)
	p.cancel(context.Canceled)
}

// inForeground reports whether the terminal's Ctrl-C reaches this process group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// userCommand is a program that is run for the user.
type userCommand struct {
	args    []string
	env     []string
	streams genericiooptions.IOStreams
	// output is the file that it prints to, by its name outputPath; nil where that are
	// the streams.
	output     io.Closer
	outputPath string
	// apart: it has a process group of its own. A terminal's Ctrl-C does not reach it.
	apart bool
	// whole: what it has started is ended with it, also where nobody has asked it to
	// end.
	whole bool
	// grace is how long it has to end when it was asked to; endWithin where zero.
	grace time.Duration
}

// endWithin is how long a command may take to end when it was asked to.
const endWithin = 10 * time.Second

// commandEndsWithin is endsWithin where there may be a command to wait for.
const commandEndsWithin = endsWithin + endWithin + outputWithin

// sendOutput sends what it prints to a file, which is its own from now on.
func (c *userCommand) sendOutput(file io.WriteCloser, path string) {
	c.output, c.outputPath = file, path
	c.streams.Out, c.streams.ErrOut = file, file
}

func (c *userCommand) close() {
	if c.output != nil {
		_ = c.output.Close()
	}
}

// outputWithin is how long what a command has started may hold its output open
// after it has ended.
const outputWithin = 2 * time.Second

// run runs the command and returns its exit code as a commandExit: 128 and the
// signal's number where a signal ended it. When ctx ends, or what it works on has
// crashed, it is asked to end, and killed if it does not; why that was is returned
// then, or its exit code all the same where the user has left.
//
// A signal that ends it, and the end of ctx, are for what it has started too; see commandFamily.
//
// Where the system can do that (Linux), the command is killed if this process is; what
// it has started is not, and finds its proxy gone.
func (c *userCommand) run(ctx context.Context, signals *signalPasser, crashed <-chan struct{}, crash func() error) error {
	command := exec.Command(c.args[0], c.args[1:]...)
	command.Env = c.env
	command.Stdin, command.Stdout, command.Stderr = c.streams.In, render.Bare(c.streams.Out), render.Bare(c.streams.ErrOut)
	command.WaitDelay = outputWithin
	command.SysProcAttr = dieWithParent()
	if c.apart {
		command.SysProcAttr = inOwnGroup(command.SysProcAttr)
	}
	var all *commandFamily
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel goes by the thread that made the process: it has to last.
		runtime.LockOSThread()
		var err error
		all, err = signals.start(command, c.apart)
		started <- err
		if err == nil {
			err = command.Wait()
			signals.ended()
			ended <- err
		}
	}()
	if err := <-started; err != nil {
		return notStarted(c.args[0], err)
	}
	var gone error
	var late <-chan time.Time
	end := func(why error) {
		gone = why
		if late == nil {
			late = time.After(cmp.Or(c.grace, endWithin))
		}
		all.signal(syscall.SIGTERM)
	}
	for {
		select {
		case err := <-ended:
			all.end(c.whole)
			if gone != nil && !errors.Is(gone, errLeft) {
				return gone
			}
			return exitOf(c.args[0], err)
		case <-crashed:
			crashed = nil
			end(crash())
		case <-ctx.Done():
			why := context.Cause(ctx)
			ctx = context.WithoutCancel(ctx)
			end(why)
		case <-late:
			all.signal(os.Kill)
		}
	}
}

// notStarted is the error of a command that could not be started, with the exit code
// that a shell has for it.
func notStarted(name string, err error) error {
	code := 126
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = 127
	}
	return &startError{code, fmt.Errorf("run %s: %w", name, err)}
}

// exitOf turns what Wait returned into a commandExit.
func exitOf(name string, err error) error {
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code := exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		}
		return &commandExit{code: code}
	case errors.Is(err, exec.ErrWaitDelay): // it has ended with 0
		return nil
	case err != nil:
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}
