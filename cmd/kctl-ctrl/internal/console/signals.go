package console

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
)

// StopSignals are what ends a command: Ctrl-C, SIGTERM and the terminal's end, but
// for a command that is to outlive that (nohup).
func StopSignals() []os.Signal { return UnlessNohup(ScreenSignals()) }

// ScreenSignals are what ends a screen, which does not outlive its terminal.
func ScreenSignals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// UnlessNohup leaves SIGHUP out where this process was started with it ignored.
func UnlessNohup(signals []os.Signal) []os.Signal {
	if !signal.Ignored(syscall.SIGHUP) {
		return signals
	}
	return slices.DeleteFunc(signals, func(s os.Signal) bool { return s == syscall.SIGHUP })
}

// OutlivePipes has a write to a closed standard output or error fail, which would
// otherwise kill the process before it has put things in order; the caller ends that.
func OutlivePipes() (end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

const (
	// SameRequest is how soon after the word on the first a second signal is no other
	// request: timeout(1) sends its own to the process and then to the group. It is not
	// counted from the first: while that word is held up, the second one waits here.
	SameRequest = 100 * time.Millisecond
	// wordWithin is how long the word on stderr may hold up what it tells of: who
	// reads stderr may have stopped.
	wordWithin = 100 * time.Millisecond
	// EndsWithin is when a command is left that does not end when it was asked to,
	// though all that it waits for is bounded: by a credential plugin that hangs, or
	// by an output that nobody reads.
	EndsWithin = 5 * time.Second
)

// WithSignals returns a context that the first of the signals ends (StopSignals
// where none is given), with a word on stderr about what happens now. The second
// one exits at once, and so does the time: the sandbox's child then cleans up after
// itself, for it sees its parent go.
func WithSignals(parent context.Context, stderr io.Writer, stopping string, on ...os.Signal) (context.Context, context.CancelFunc) {
	return EndingOf(stderr, stopping, on...).Context(parent)
}

// EndingOf is what WithSignals does, to be changed before its context is made.
func EndingOf(stderr io.Writer, stopping string, on ...os.Signal) Ending {
	if len(on) == 0 {
		on = StopSignals()
	}
	return Ending{Stderr: stderr, Within: EndsWithin, Stopping: func() string { return stopping }, On: on}
}

// EndingOfScreen is that of a screen, which has the terminal: there is no word, and
// who leaves at once gives the terminal back first.
func EndingOfScreen(within time.Duration, streams genericiooptions.IOStreams) Ending {
	e := EndingOf(Discard{}, "", ScreenSignals()...)
	e.Within, e.leaving = within, Remember(streams)
	return e
}

// Ending is what becomes of signals.
type Ending struct {
	Stderr io.Writer
	Within time.Duration
	// Stopping is the word, when the signal comes.
	Stopping func() string
	On       []os.Signal
	// leaving is called before the process exits at once; nil is nothing.
	leaving func()
}

// Context makes one that the first signal ends. Its cancel has to be called.
func (e Ending) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, e.On...)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		late := time.After(e.Within)
		SayWithin(e.Stderr, e.Stopping())
		cancel(exit.ErrInterrupted)
		said := time.Now()
		if word, now := leaves(signals, func() time.Duration { return time.Since(said) }, late, done); now {
			if e.leaving != nil {
				e.leaving()
			}
			if word != "" {
				SayWithin(e.Stderr, word)
			}
			Leave(ctx, exit.Interrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(context.Canceled)
	}
}

// LeftBehind is the word on leaving what does not end.
const LeftBehind = "warning: not everything has ended in time: leaving all the same"

// leaves waits for the end, and reports whether not to wait for it, with a word on
// why where the user does not know.
func leaves(signals <-chan os.Signal, since func() time.Duration, late <-chan time.Time, done <-chan struct{}) (word string, leave bool) {
	for {
		select {
		case <-signals:
			if since() >= SameRequest {
				return "", true
			}
		case <-late:
			return LeftBehind, true
		case <-done:
			return "", false
		}
	}
}

// SayWithin prints a line, and goes on after wordWithin whether it is printed or not.
func SayWithin(out io.Writer, text string) { WriteWithin(out, text+"\n") }

// WriteWithin writes, and goes on after wordWithin whether it is written or not.
func WriteWithin(out io.Writer, text string) {
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

// Leavable returns a context whose holders can ask to leave without waiting for what
// runs in it, and the channel on which the first of them says with which exit code.
// Who runs the command listens there: it alone ends the process.
func Leavable(parent context.Context) (context.Context, <-chan int) {
	codes := make(chan int, 1)
	return context.WithValue(parent, leavingKey{}, codes), codes
}

// Leave asks for the end of the process with this exit code, whatever still runs.
// Without a leavable context nobody can be asked, and nothing happens.
func Leave(ctx context.Context, code int) {
	codes, ok := ctx.Value(leavingKey{}).(chan int)
	if !ok {
		return
	}
	select {
	case codes <- code:
	default: // somebody has asked already
	}
}
