// Package console is what commands know of the terminal, and of the signals that come
// from it: what is one, how wide it is, whether colours go to it, how it is given back;
// the line that says what is waited for (Progress); and how a command ends when the user
// asks for it (WithSignals), or leaves what does not end (Leave).
package console

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// InertUnlessTerminal wraps an output that a CI job may keep: no line of it is a
// command to the job's runner. Programs run for the user get the output itself; see
// render.Bare.
func InertUnlessTerminal(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return w
	}
	return render.Inert(w)
}

// Width is the number of columns of the terminal that w is, or 0.
func Width(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// AsItWas ends what a screen switches on: mouse, bracketed paste, the hidden cursor
// and the alternate screen.
const AsItWas = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[?1049l"

// Remember returns what gives the terminal of a screen back as it is now,
// whatever the screen's own loop does: that one may wait for a terminal that nobody
// reads. Without a terminal there is nothing to do.
func Remember(streams genericiooptions.IOStreams) (restore func()) {
	in, ok := streams.In.(*os.File)
	if !ok {
		return nil
	}
	fd := int(in.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return nil
	}
	return func() {
		WriteWithin(streams.Out, AsItWas)
		_ = term.Restore(fd, state)
	}
}

// KeepFromPlugins has client-go start credential plugins without the terminal, for the
// rest of this process: they would read the screen's keys and write over it. One
// that has to ask the user fails then, and says that it has no terminal. client-go
// v0.37.1 gives them what os.Stdin and os.Stderr are when a client is made
// (plugin/pkg/client/auth/exec).
func KeepFromPlugins() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("keep credential plugins off the terminal: %w", err)
	}
	os.Stdin, os.Stderr = null, null
	return nil
}

// Color decides about colours on w: NO_COLOR set and not empty and
// TERM=dumb switch them off, and so does everything that is not a terminal.
func Color(choice string, w io.Writer) (bool, error) {
	switch choice {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w), nil
	default:
		return false, fmt.Errorf("unknown --color %q: use auto, always or never", choice)
	}
}

// Discard is a writer that drops everything.
type Discard struct{}

// Write implements io.Writer.
func (Discard) Write(p []byte) (int, error) { return len(p), nil }

// Close implements io.Closer.
func (Discard) Close() error { return nil }
