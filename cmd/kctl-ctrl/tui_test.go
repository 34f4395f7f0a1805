package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The screen leaves the terminal as it was, whatever ends it.
func TestScreenRestoresTheTerminal(t *testing.T) {
	small := []string{"tui", "--sandbox", "--nodes=0", "--controllers=deployment,replicaset"}
	for _, c := range []struct {
		name string
		end  func(*terminal)
		code int
	}{
		{"q", func(x *terminal) { x.press("q") }, exitOK},
		{"Ctrl-C", func(x *terminal) { x.press("<ctrl-c>") }, exitOK},
		{"SIGTERM", func(x *terminal) { x.signal(syscall.SIGTERM) }, exitOK},
		{"SIGHUP", func(x *terminal) { x.signal(syscall.SIGHUP) }, exitOK},
		{"a crash of the sandbox", func(x *terminal) {
			if err := x.child().Kill(); err != nil {
				x.t.Fatal(err)
			}
		}, exitError},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := onTerminal(t, 80, 24, small...).shows("SANDBOX", "2 of 49 loops run")
			begin := time.Now()
			c.end(x)
			if code := x.ends(); code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, x.picture.String())
			}
			t.Logf("ended after %s", time.Since(begin).Round(time.Millisecond))
			if c.code == exitError && !strings.Contains(x.raw.String(), "error: the sandbox's control plane ended") {
				t.Errorf("it is not said why the screen ended:\n%s", x.picture.String())
			}
		})
	}
}

// Ctrl-Z gives the shell its terminal back, and fg the screen.
func TestScreenIsSuspended(t *testing.T) {
	x := onShell(t, 80, 24)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x.press("PS1='$ '\n").press(self + " tui --sandbox --nodes=0 --controllers=deployment\n")
	x.shows("1 of 49 loops run").press("<ctrl-z>").shows("$ ")
	x.restored()
	x.press("fg\n").shows("1 of 49 loops run").press("q").shows("$ ")
	x.press("exit\n")
	if code := x.ends(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// Without a terminal there is a line that names what works there.
func TestScreenNeedsATerminal(t *testing.T) {
	for _, args := range [][]string{{}, {"tui", "--sandbox"}} {
		command := program(t, args...)
		out, err := command.CombinedOutput()
		if err == nil || command.ProcessState.ExitCode() != exitError {
			t.Errorf("%v: %v, want exit code %d", args, err, exitError)
		}
		if got := string(out); strings.Count(got, "\n") != 1 || !strings.Contains(got, "'run'") || !strings.Contains(got, "--plain") {
			t.Errorf("%v says %q", args, got)
		}
	}
}
