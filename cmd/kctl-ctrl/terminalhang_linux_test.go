package main

import (
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
)

// Nobody reads the terminal, and the screen waits for ever to draw on it: who asks
// twice for the end gets it, with the terminal no longer raw.
func TestScreenThatHangsGivesTheTerminalBack(t *testing.T) {
	testbed.Parallel(t)
	control, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	defer tty.Close()
	if err := pty.Setsize(control, &pty.Winsize{Cols: 900, Rows: 900}); err != nil { // no buffer holds that
		t.Fatal(err)
	}
	command := program(t, "tui", "--from", "watch/recording/testdata/shop.jsonl")
	command.Dir, command.Env = repository(t), append(command.Env, "TERM=xterm-256color")
	command.Stdin, command.Stdout, command.Stderr = tty, tty, tty
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	waiting := func() bool { // for the reader
		n, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCINQ)
		return err == nil && n >= 4095
	}
	if !informers.Until(t.Context(), patience, waiting) {
		t.Fatal("the screen does not wait for its terminal")
	}
	for over := false; !over; {
		_ = command.Process.Signal(syscall.SIGTERM)
		over = informers.Until(t.Context(), 50*time.Millisecond, func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		})
	}
	if code := command.ProcessState.ExitCode(); code != exit.Interrupted {
		t.Errorf("exit code %d, want %d: it did not hang", code, exit.Interrupted)
	}
	state, err := term.GetState(int(control.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(state, fresh(t)) {
		t.Error("the terminal was left raw")
	}
}
