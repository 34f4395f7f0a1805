package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// stopSignals are what ends a command: Ctrl-C, SIGTERM and the terminal's end, but
// for a command that is to outlive that (nohup).
func stopSignals() []os.Signal { return unlessNohup(screenSignals()) }

// screenSignals are what ends a screen, which does not outlive its terminal.
func screenSignals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// unlessNohup leaves SIGHUP out where this process was started with it ignored.
func unlessNohup(signals []os.Signal) []os.Signal {
	if !signal.Ignored(syscall.SIGHUP) {
		return signals
	}
	return slices.DeleteFunc(signals, func(s os.Signal) bool { return s == syscall.SIGHUP })
}

// outlivePipes has a write to a closed standard output or error fail, which would
// otherwise kill the process before it has put things in order; the caller ends that.
func outlivePipes() (end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

const (
	// sameRequest is how soon after the word on the first a second signal is no other
	// request: timeout(1) sends its own to the process and then to the group. It is not
	// counted from the first: while that word is held up, the second one waits here.
	sameRequest = 100 * time.Millisecond
	// wordWithin is how long the word on stderr may hold up what it tells of: who
	// reads stderr may have stopped.
	wordWithin = 100 * time.Millisecond
	// endsWithin is when a command is left that does not end when it was asked to,
	// though all that it waits for is bounded: by a credential plugin that hangs, or
	// by an output that nobody reads.
	endsWithin = 5 * time.Second
)

// withSignals returns a context that the first of the signals ends (stopSignals
// where none is given), with a word on stderr about what happens now. The second
// one exits at once, and so does the time: the sandbox's child then cleans up after
// itself, for it sees its parent go.
func withSignals(parent context.Context, stderr io.Writer, stopping string, on ...os.Signal) (context.Context, context.CancelFunc) {
	return endingOf(stderr, stopping, on...).context(parent)
}

func endingOf(stderr io.Writer, stopping string, on ...os.Signal) ending {
	if len(on) == 0 {
		on = stopSignals()
	}
	return ending{stderr: stderr, within: endsWithin, stopping: func() string { return stopping }, on: on}
}

// endingOfScreen is that of a screen, which has the terminal: there is no word, and
// who leaves at once gives the terminal back first.
func endingOfScreen(within time.Duration, streams genericiooptions.IOStreams) ending {
	e := endingOf(discard{}, "", screenSignals()...)
	e.within, e.leaving = within, rememberTerminal(streams)
	return e
}

// ending is what becomes of signals.
type ending struct {
	stderr io.Writer
	within time.Duration
	// stopping is the word, when the signal comes.
	stopping func() string
	on       []os.Signal
	// leaving is called before the process exits at once; nil is nothing.
	leaving func()
}

// context makes one that the first signal ends. Its cancel has to be called.
func (e ending) context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, e.on...)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		late := time.After(e.within)
		sayWithin(e.stderr, e.stopping())
		cancel(errInterrupted)
		said := time.Now()
		if word, now := leaves(signals, func() time.Duration { return time.Since(said) }, late, done); now {
			if e.leaving != nil {
				e.leaving()
			}
			if word != "" {
				sayWithin(e.stderr, word)
			}
			leave(ctx, exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(context.Canceled)
	}
}

// leftBehind is the word on leaving what does not end.
const leftBehind = "warning: not everything has ended in time: leaving all the same"

// leaves waits for the end, and reports whether not to wait for it, with a word on
// why where the user does not know.
func leaves(signals <-chan os.Signal, since func() time.Duration, late <-chan time.Time, done <-chan struct{}) (word string, leave bool) {
	for {
		select {
		case <-signals:
			if since() >= sameRequest {
				return "", true
			}
		case <-late:
			return leftBehind, true
		case <-done:
			return "", false
		}
	}
}

// sayWithin prints a line, and goes on after wordWithin whether it is printed or not.
func sayWithin(out io.Writer, text string) { writeWithin(out, text+"\n") }

// writeWithin writes, and goes on after wordWithin whether it is written or not.
func writeWithin(out io.Writer, text string) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.WriteString(out, text)
	}()
	select {
	case <-said:
	case <-time.After(wordWithin):
	}
}

// leavingKey is of the channel that leavable puts into a context.
type leavingKey struct{}

// leavable returns a context whose holders can ask to leave without waiting for what
// runs in it, and the channel on which the first of them says with which exit code.
// Who runs the command listens there: it alone ends the process.
func leavable(parent context.Context) (context.Context, <-chan int) {
	codes := make(chan int, 1)
	return context.WithValue(parent, leavingKey{}, codes), codes
}

// leave asks for the end of the process with this exit code, whatever still runs.
// Without a leavable context nobody can be asked, and nothing happens.
func leave(ctx context.Context, code int) {
	codes, ok := ctx.Value(leavingKey{}).(chan int)
	if !ok {
		return
	}
	select {
	case codes <- code:
	default: // somebody has asked already
	}
}
