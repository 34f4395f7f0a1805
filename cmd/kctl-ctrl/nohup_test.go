package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/tui"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
)

// Who starts a command so that it outlives the terminal (nohup) has it do so; a
// screen goes with its terminal.
func TestNohup(t *testing.T) {
	if !slices.Contains(console.StopSignals(), os.Signal(syscall.SIGHUP)) || !slices.Contains(exec.PassedSignals(), os.Signal(syscall.SIGHUP)) {
		t.Fatal("the terminal's end ends nothing")
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if slices.Contains(console.StopSignals(), os.Signal(syscall.SIGHUP)) || slices.Contains(exec.PassedSignals(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP ends what was started with it ignored")
	}
	if !slices.Contains((&tui.Options{}).Ending().On, os.Signal(syscall.SIGHUP)) {
		t.Error("a screen stays without its terminal")
	}
	if slices.Contains((&tui.Options{Plain: true}).Ending().On, os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP ends a screen that is printed as lines")
	}
}
