package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// ErrLeft ends a command whose user has had enough of it: its exit code counts.
var ErrLeft = errors.New("the user has left")

// ExitError carries the exit code of a command run for the user.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the command exited with %d", e.Code) }

// StartError is why a command was not run for the user, with its exit code.
type StartError struct {
	Code int
	Err  error
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// Command is a program that is run for the user.
type Command struct {
	Args, Env []string
	// In is its standard input; Out and ErrOut are where it prints to.
	In          io.Reader
	Out, ErrOut io.Writer
	// Apart: it has a process group of its own. A terminal's Ctrl-C does not reach it.
	Apart bool
	// Whole: what it has started is ended with it, also where nobody has asked it to
	// end.
	Whole bool
	// Grace is how long it has to end when it was asked to; EndWithin where zero.
	Grace time.Duration
}

// EndWithin is how long a command may take to end when it was asked to.
const EndWithin = 10 * time.Second

// OutputWithin is how long what a command has started may hold its output open
// after it has ended.
const OutputWithin = 2 * time.Second

// Run runs the command and returns its exit code as a ExitError: 128 and the
// signal's number where a signal ended it. When ctx ends, or what it works on has
// crashed, it is asked to end, and killed if it does not; why that was is returned
// then, or its exit code all the same where the user has left.
//
// A signal that ends it, and the end of ctx, are for what it has started too; see family.
//
// Where the system can do that (Linux), the command is killed if this process is; what
// it has started is not, and finds its proxy gone.
func (c *Command) Run(ctx context.Context, signals *Signals, crashed <-chan struct{}, crash func() error) error {
	command := exec.Command(c.Args[0], c.Args[1:]...)
	command.Env = c.Env
	command.Stdin, command.Stdout, command.Stderr = c.In, c.Out, c.ErrOut
	command.WaitDelay = OutputWithin
	command.SysProcAttr = dieWithParent()
	if c.Apart {
		command.SysProcAttr = inOwnGroup(command.SysProcAttr)
	}
	var all *family
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel goes by the thread that made the process: it has to last.
		runtime.LockOSThread()
		var err error
		all, err = signals.start(command, c.Apart)
		started <- err
		if err == nil {
			err = command.Wait()
			signals.ended()
			ended <- err
		}
	}()
	if err := <-started; err != nil {
		return notStarted(c.Args[0], err)
	}
	var gone error
	var late <-chan time.Time
	end := func(why error) {
		gone = why
		if late == nil {
			late = time.After(cmp.Or(c.Grace, EndWithin))
		}
		all.signal(syscall.SIGTERM)
	}
	for {
		select {
		case err := <-ended:
			all.end(c.Whole)
			if gone != nil && !errors.Is(gone, ErrLeft) {
				return gone
			}
			return exitOf(c.Args[0], err)
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
	return &StartError{Code: code, Err: fmt.Errorf("run %s: %w", name, err)}
}

// exitOf turns what Wait returned into a ExitError.
func exitOf(name string, err error) error {
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code := exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		}
		return &ExitError{Code: code}
	case errors.Is(err, exec.ErrWaitDelay): // it has ended with 0
		return nil
	case err != nil:
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}
