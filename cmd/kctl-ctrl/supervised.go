package main

import (
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// A TUI runs in a child of the process that the user started. Upstream's code runs in
// it, and a panic in a goroutine of upstream's that nobody recovers from, a call of
// os.Exit, or a kill -9 for want of memory ends the process at once: whoever has the
// terminal is gone. The parent does nothing but wait, so it is there to give the
// terminal back. See docs/architecture.md.

// supervisedVariable in the environment makes a process the child: the descriptor that
// closes with the parent, the one that tells it of an orderly end, and the file for
// the trace of a crash, which may be empty.
const supervisedVariable = "KCTL_CTRL_SUPERVISED"

// supervised is what a child knows of its parent; nil in any other process.
var supervised *underSupervision

type underSupervision struct {
	orderly *os.File
	crash   string
}

// beginSupervised makes this process the child, if it is one. It comes first in main.
func beginSupervised() {
	told, is := os.LookupEnv(supervisedVariable)
	if !is {
		return
	}
	_ = os.Unsetenv(supervisedVariable) // its own children are not supervised
	alive, rest, _ := strings.Cut(told, ",")
	orderly, crash, _ := strings.Cut(rest, ",")
	in, err := strconv.Atoi(alive)
	if err != nil {
		return
	}
	out, err := strconv.Atoi(orderly)
	if err != nil {
		return
	}
	for _, fd := range []int{in, out} {
		closeOnExec(fd)
	}
	supervised = &underSupervision{orderly: os.NewFile(uintptr(out), "orderly"), crash: crash}
	parent := os.NewFile(uintptr(in), "parent")
	go func() {
		_, _ = io.Copy(io.Discard, parent)
		// The parent is gone: end as by its signal.
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM)
		}
	}()
	if crash == "" {
		return
	}
	file, err := os.OpenFile(crash, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		supervised.crash = ""
		return
	}
	_ = debug.SetCrashOutput(file, debug.CrashOptions{})
	_ = file.Close() // the runtime has its own
}

// exitProcess ends the process in an orderly way.
func exitProcess(code int) {
	if supervised != nil {
		if supervised.crash != "" {
			_ = os.Remove(supervised.crash)
		}
		_, _ = supervised.orderly.Write([]byte{1})
	}
	os.Exit(code)
}
