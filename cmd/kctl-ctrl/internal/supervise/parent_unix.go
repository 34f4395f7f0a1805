//go:build unix

package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// forwarded are the signals that are sent to the process that the user knows and are
// for its child. What the terminal sends, both get: SIGTSTP and SIGCONT stop and
// continue the two as one job.
var forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// Run runs this command line again in a child and waits for its end. It returns
// done false where there is nothing to supervise: in that child, where the streams are
// not this process's own terminal, and where no child can be started.
func Run(ctx context.Context, streams genericiooptions.IOStreams) (err error, done bool) {
	if isChild(ctx) || streams.In != os.Stdin || streams.Out != os.Stdout || !console.IsTerminal(os.Stdin) {
		return nil, false
	}
	before, err := term.GetState(int(os.Stdin.Fd()))
	if err != nil {
		return nil, false
	}
	child, err := startSupervised()
	if err != nil {
		return nil, false
	}
	defer child.hold.Close() // not before: a finalizer would
	debug.FreeOSMemory()     // what the flags took is not needed any more
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = child.Process.Signal(s)
		case err := <-ended:
			return child.judge(err, before, streams), true
		}
	}
}

type process struct {
	*exec.Cmd
	// hold is the end of a pipe that closes with this process; orderly is read.
	hold, orderly *os.File
	crash         string
}

func startSupervised() (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	alive, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer alive.Close()
	orderly, tell, err := os.Pipe()
	if err != nil {
		_ = hold.Close()
		return nil, err
	}
	defer tell.Close()
	c := &process{Cmd: exec.Command(self, os.Args[1:]...), hold: hold, orderly: orderly}
	if dir, err := about.StateDir(); err == nil && os.MkdirAll(dir, 0o700) == nil {
		c.crash = filepath.Join(dir, fmt.Sprintf("crash-%d.log", os.Getpid()))
	}
	c.Args[0] = os.Args[0]
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.ExtraFiles = []*os.File{alive, tell} // 3 and 4
	c.Env = append(os.Environ(), variable+"=3,4,"+c.crash)
	if err := c.Start(); err != nil {
		_ = hold.Close()
		_ = orderly.Close()
		return nil, err
	}
	return c, nil
}

// judge tells an orderly end from any other, after which it gives the terminal back.
func (c *process) judge(end error, before *term.State, streams genericiooptions.IOStreams) error {
	code := c.ProcessState.ExitCode()
	if status, is := c.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	var told [1]byte
	if n, _ := c.orderly.Read(told[:]); n == 1 {
		return quietExit(code)
	}
	restore(int(os.Stdin.Fd()), before, streams)
	how := "it called exit"
	if end != nil {
		how = end.Error()
	}
	text := "error: the TUI ended unexpectedly: " + how
	if first, written := firstOfCrash(c.crash); written {
		text += "\n  " + render.Sanitise(first) + "\n  crash log: " + c.crash
	} else if c.crash != "" {
		_ = os.Remove(c.crash)
	}
	fmt.Fprintln(streams.ErrOut, text)
	return quietExit(max(code, exit.Failed))
}

// quietExit ends with the child's code; what there was to say, the child has said.
func quietExit(code int) error {
	if code == exit.OK {
		return nil
	}
	return &child.ExitError{Code: code}
}

// restore gives the terminal back, unless the child has done it.
func restore(fd int, before *term.State, streams genericiooptions.IOStreams) {
	if now, err := term.GetState(fd); err == nil && reflect.DeepEqual(now, before) {
		return
	}
	console.WriteWithin(streams.Out, console.AsItWas)
	_ = term.Restore(fd, before)
}

// firstOfCrash is the first line of a trace.
func firstOfCrash(path string) (line string, written bool) {
	if path == "" {
		return "", false
	}
	file, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	line, err = bufio.NewReaderSize(file, 512).ReadString('\n')
	if err != nil && line == "" && !errors.Is(err, bufio.ErrBufferFull) {
		return "", false
	}
	return strings.TrimSpace(line), true
}
