//go:build linux

package child

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// withGrandchild is a shell that has started a program, whose process id it prints.
var withGrandchild = []string{"sh", "-c", `sh -c 'echo $$; exec sleep 1000' & wait`}

// firstLine gives where to print to, and the first line that is printed as a number.
func firstLine(t *testing.T) (*os.File, func() int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return w, func() int {
		line, err := bufio.NewReader(r).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // where the test failed
		return pid
	}
}

func isAlive(pid int) bool {
	_, _, ok := processStat(pid)
	return ok
}

// A signal that ends the command ends what it has started, with a process group of its
// own and in that of this process.
func TestSignalsEndGrandchildren(t *testing.T) {
	for _, apart := range []bool{true, false} {
		out, pid := firstLine(t)
		signals := &Signals{}
		command := &Command{Args: withGrandchild, Out: out, ErrOut: io.Discard, Apart: apart}
		ended := make(chan error, 1)
		go func() { ended <- command.Run(t.Context(), signals, nil, nil) }()
		grandchild := pid()
		if !signals.Pass(syscall.SIGTERM) {
			t.Fatal("there is no command")
		}
		var exit *ExitError
		if err := <-ended; !errors.As(err, &exit) || exit.Code != 128+int(syscall.SIGTERM) {
			t.Errorf("apart %v: %v", apart, err)
		}
		if isAlive(grandchild) {
			t.Errorf("apart %v: what the command has started outlives it", apart)
		}
	}
}

// What a command leaves behind when nobody has asked it to end is its own.
func TestWhatACommandLeavesBehindIsLeft(t *testing.T) {
	out, pid := firstLine(t)
	command := &Command{Args: []string{"sh", "-c", `sh -c 'echo $$; exec sleep 1000' & exit 0`}, Out: out, ErrOut: out, Apart: true}
	if err := command.Run(t.Context(), &Signals{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !isAlive(pid()) {
		t.Error("a program in the background was ended")
	}
}

// A command on the terminal is ended as a whole too.
func TestForegroundIsEndedAsAWhole(t *testing.T) {
	out, pid := firstLine(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- (&Command{Args: withGrandchild, Out: out, ErrOut: io.Discard, Apart: !HasTerminal()}).RunInForeground(ctx)
	}()
	grandchild := pid()
	cancel()
	<-ended
	if isAlive(grandchild) {
		t.Error("what the command has started outlives it")
	}
}

// A signal that asks a program for something else is the command's alone.
func TestOtherSignalsAreForTheCommand(t *testing.T) {
	for signal, ends := range map[os.Signal]bool{syscall.SIGTERM: true, os.Interrupt: true, syscall.SIGHUP: true, syscall.SIGQUIT: true, os.Kill: true, syscall.SIGUSR1: false, syscall.SIGUSR2: false} {
		if endsPrograms(signal) != ends {
			t.Errorf("%s ends programs: %v", signal, !ends)
		}
	}
}
