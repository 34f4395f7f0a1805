// Package supervise runs a TUI in a child of the process that the user started.
//
// Upstream's code runs in it, and a panic in a goroutine of upstream's that nobody
// recovers from, a call of os.Exit, or a kill -9 for want of memory ends the process at
// once: whoever has the terminal is gone. The parent (Run) does nothing but wait, so it is
// there to give the terminal back. The child (Begin) is told by the environment that it is
// one, and says by Exit that its end is an orderly one. See docs/architecture.md.
package supervise

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// variable in the environment makes a process the child: the descriptor that
// closes with the parent, the one that tells it of an orderly end, and the file for
// the trace of a crash, which may be empty.
const variable = "KCTL_CTRL_SUPERVISED"

// Child is what a supervised process knows of its parent; nil is any other
// process.
type Child struct {
	orderly *os.File
	crash   string
}

// Begin makes this process the child, if it is one, and returns nil otherwise.
// It comes first in main.
func Begin() *Child {
	told, is := os.LookupEnv(variable)
	if !is {
		return nil
	}
	_ = os.Unsetenv(variable) // its own children are not supervised
	alive, rest, _ := strings.Cut(told, ",")
	orderly, crash, _ := strings.Cut(rest, ",")
	in, err := strconv.Atoi(alive)
	if err != nil {
		return nil
	}
	out, err := strconv.Atoi(orderly)
	if err != nil {
		return nil
	}
	for _, fd := range []int{in, out} {
		closeOnExec(fd)
	}
	c := &Child{orderly: os.NewFile(uintptr(out), "orderly"), crash: crash}
	parent := os.NewFile(uintptr(in), "parent")
	go func() {
		_, _ = io.Copy(io.Discard, parent)
		// The parent is gone: end as by its signal.
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM)
		}
	}()
	if crash == "" {
		return c
	}
	file, err := os.OpenFile(crash, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		c.crash = ""
		return c
	}
	_ = debug.SetCrashOutput(file, debug.CrashOptions{})
	_ = file.Close() // the runtime has its own
	return c
}

// childKey is of the child that a context belongs to.
type childKey struct{}

// Context returns one by which supervise knows that it is in the child.
func (c *Child) Context(parent context.Context) context.Context {
	return context.WithValue(parent, childKey{}, c)
}

// isChild reports whether a context is of the child.
func isChild(ctx context.Context) bool {
	c, _ := ctx.Value(childKey{}).(*Child)
	return c != nil
}

// Exit ends the process in an orderly way, and tells a parent.
func (c *Child) Exit(code int) {
	if c != nil {
		if c.crash != "" {
			_ = os.Remove(c.crash)
		}
		_, _ = c.orderly.Write([]byte{1})
	}
	os.Exit(code)
}
