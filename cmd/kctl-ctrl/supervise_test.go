//go:build unix

package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/supervise"
)

// panicVariable in the environment has a goroutine that nobody looks after panic at
// SIGUSR2, in the process that draws.
const panicVariable = "KCTL_CTRL_TEST_PANIC"

func panicOnSignal(child *supervise.Child) {
	if os.Getenv(panicVariable) == "" || child == nil {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	go func() {
		<-signals
		panic("injected into a bare goroutine")
	}()
}

// Whatever ends the process that draws, the terminal is given back, and the exit code
// says that it was no ordinary end.
func TestTerminalSurvivesACrash(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		code   int
		says   []string
	}{
		"a panic": {syscall.SIGUSR2, exit.Failed, []string{"the TUI ended unexpectedly: exit status 2", "panic: injected into a bare goroutine", "crash log: "}},
		"killed":  {syscall.SIGKILL, 128 + 9, []string{"the TUI ended unexpectedly: signal: killed"}},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			x := onTerminalAs(t, []string{"HOME=" + home, "XDG_STATE_HOME=" + home, panicVariable + "=1"}, 100, 30, "tui", "--from", "watch/recording/testdata/shop.jsonl")
			x.shows("q quit")
			if err := syscall.Kill(x.screen(), c.signal); err != nil {
				t.Fatal(err)
			}
			if code := x.ends(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			_, after, _ := strings.Cut(x.raw.String(), console.AsItWas)
			for _, text := range c.says {
				if !strings.Contains(after, text) {
					t.Errorf("after the terminal was given back it does not say %q: %q", text, after)
				}
			}
			logs, err := filepath.Glob(filepath.Join(home, "kctl-ctrl", "crash-*.log"))
			if err != nil {
				t.Fatal(err)
			}
			if c.signal == syscall.SIGKILL {
				if len(logs) > 0 {
					t.Errorf("it left %q", logs)
				}
				return
			}
			if len(logs) != 1 {
				t.Fatalf("crash logs: %q", logs)
			}
			trace, err := os.ReadFile(logs[0])
			if err != nil || !strings.Contains(string(trace), "panicOnSignal") {
				t.Errorf("the crash log has no trace: %v\n%s", err, trace)
			}
			if info, err := os.Stat(logs[0]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the crash log: %v, %v", info, err)
			}
		})
	}
}

// The process that the user knows is killed: the one that draws does not go on
// without it, and gives the terminal back.
func TestTheScreenEndsWithItsParent(t *testing.T) {
	x := onTerminal(t, 100, 30, "tui", "--from", "watch/recording/testdata/shop.jsonl")
	x.shows("q quit")
	screen := x.screen()
	x.signal(syscall.SIGKILL)
	await(t, "the process that draws has ended", func() bool { return !programtest.Running(screen) })
	x.restored()
}

// Signals reach the process that draws, and an orderly end leaves nothing behind.
func TestSignalsReachTheScreen(t *testing.T) {
	home := t.TempDir()
	x := onTerminalAs(t, []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, 100, 30, "tui", "--from", "watch/recording/testdata/shop.jsonl")
	x.shows("q quit")
	x.signal(syscall.SIGTERM)
	if code := x.ends(); code != exit.OK && code != exit.Interrupted {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(x.raw.String(), "unexpectedly") {
		t.Errorf("it takes that for a crash: %q", x.raw.String())
	}
	if logs, _ := filepath.Glob(filepath.Join(home, "kctl-ctrl", "crash-*.log")); len(logs) > 0 {
		t.Errorf("it left %q", logs)
	}
}
