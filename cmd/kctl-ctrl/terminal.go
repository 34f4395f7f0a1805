package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// inertUnlessTerminal wraps an output that a CI job may keep: no line of it is a
// command to the job's runner. Programs run for the user get the output itself; see
// render.Bare.
func inertUnlessTerminal(w io.Writer) io.Writer {
	if isTerminal(w) {
		return w
	}
	return render.Inert(w)
}

// widthOf is the number of columns of the terminal that w is, or 0.
func widthOf(w io.Writer) int {
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

// asItWas ends what a screen switches on: mouse, bracketed paste, the hidden cursor
// and the alternate screen.
const asItWas = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[?1049l"

// rememberTerminal returns what gives the terminal of a screen back as it is now,
// whatever the screen's own loop does: that one may wait for a terminal that nobody
// reads. Without a terminal there is nothing to do.
func rememberTerminal(streams genericiooptions.IOStreams) (restore func()) {
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
		writeWithin(streams.Out, asItWas)
		_ = term.Restore(fd, state)
	}
}

// keepTerminal has client-go start credential plugins without the terminal, for the
// rest of this process: they would read the screen's keys and write over it. One
// that has to ask the user fails then, and says that it has no terminal. client-go
// v0.37.1 gives them what os.Stdin and os.Stderr are when a client is made
// (plugin/pkg/client/auth/exec).
func keepTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("keep credential plugins off the terminal: %w", err)
	}
	os.Stdin, os.Stderr = null, null
	return nil
}

// useColor decides about colours on w: NO_COLOR set and not empty and
// TERM=dumb switch them off, and so does everything that is not a terminal.
func useColor(choice string, w io.Writer) (bool, error) {
	switch choice {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w), nil
	default:
		return false, fmt.Errorf("unknown --color %q: use auto, always or never", choice)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (discard) Close() error { return nil }
