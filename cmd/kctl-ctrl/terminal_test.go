package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"golang.org/x/term"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
)

// terminal is a program on a terminal of its own, as a user has it before them:
// keys go in, and the picture is what an emulator makes of the bytes.
type terminal struct {
	t       testing.TB
	command *exec.Cmd
	pty     *os.File
	picture vt10x.Terminal

	read   sync.WaitGroup
	mu     sync.Mutex
	drawn  *sync.Cond
	closed bool
	raw    strings.Builder
}

// patience bounds each wait for a picture.
const patience = time.Minute

// onTerminal starts the program with arguments on a terminal of a size. What is
// left of it is killed at the end of the test.
func onTerminal(t *testing.T, columns, rows int, args ...string) *terminal {
	t.Helper()
	return onTerminalAs(t, []string{"HOME=" + t.TempDir()}, columns, rows, args...)
}

// onTerminalAs has more environment.
func onTerminalAs(t testing.TB, env []string, columns, rows int, args ...string) *terminal {
	t.Helper()
	x := &terminal{t: t, command: program(t, args...)}
	x.drawn = sync.NewCond(&x.mu)
	x.command.Dir = repository(t)
	x.command.Env = append(append(x.command.Env, "TERM=xterm-256color", "NO_COLOR="), env...)
	return x.start(columns, rows)
}

// onShell starts a shell on a terminal, in which the program is a job.
func onShell(t *testing.T, columns, rows int) *terminal {
	t.Helper()
	x := &terminal{t: t, command: program(t)}
	x.drawn = sync.NewCond(&x.mu)
	x.command.Path, x.command.Args = "/bin/sh", []string{"sh", "-i"}
	x.command.Env = append(x.command.Env, "TERM=xterm-256color", "HOME="+t.TempDir(), "ENV=")
	return x.start(columns, rows)
}

func (x *terminal) start(columns, rows int) *terminal {
	x.t.Helper()
	var err error
	x.pty, err = pty.StartWithSize(x.command, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		x.t.Fatal(err)
	}
	x.picture = vt10x.New(vt10x.WithSize(columns, rows), vt10x.WithWriter(x.pty))
	x.read.Go(x.follow)
	x.t.Cleanup(func() {
		_ = x.command.Process.Kill()
		_ = x.pty.Close()
	})
	return x
}

func (x *terminal) follow() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := x.pty.Read(buffer)
		x.mu.Lock()
		_, _ = x.picture.Write(buffer[:n])
		x.raw.Write(buffer[:n])
		x.closed = err != nil
		x.drawn.Broadcast()
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// press types: names of keys in angle brackets, everything else as it is.
func (x *terminal) press(keys string) *terminal {
	x.t.Helper()
	for name, bytes := range map[string]string{"<enter>": "\r", "<esc>": "\x1b", "<tab>": "\t", "<down>": "\x1b[B", "<ctrl-c>": "\x03", "<ctrl-z>": "\x1a"} {
		keys = strings.ReplaceAll(keys, name, bytes)
	}
	if _, err := io.WriteString(x.pty, keys); err != nil {
		x.t.Fatal(err)
	}
	return x
}

// shows waits for a picture that has all texts.
func (x *terminal) shows(texts ...string) *terminal {
	x.t.Helper()
	x.until(func(picture string) bool {
		for _, text := range texts {
			if !strings.Contains(picture, text) {
				return false
			}
		}
		return true
	}, strings.Join(texts, " and "))
	return x
}

// answer types an answer to a question that has just been shown, again where it came too
// early, and waits for a picture that has all texts, or for the end.
func (x *terminal) answer(keys string, texts ...string) {
	x.t.Helper()
	ignored := func() int { return strings.Count(x.raw.String(), follow.TypedEarly) }
	for again := true; again; {
		x.mu.Lock()
		before := ignored()
		x.mu.Unlock()
		x.press(keys)
		x.until(func(picture string) bool {
			again = ignored() > before
			shown := len(texts) > 0
			for _, text := range texts {
				shown = shown && strings.Contains(picture, text)
			}
			return again || shown || len(texts) == 0 && x.closed
		}, strings.Join(texts, " and "))
	}
}

// writes waits for bytes.
func (x *terminal) writes(bytes string) {
	x.t.Helper()
	x.until(func(string) bool { return strings.Contains(x.raw.String(), bytes) }, strconv.Quote(bytes))
}

// matches waits for a picture in which an expression is found, and gives what its
// first group is.
func (x *terminal) matches(pattern string) string {
	x.t.Helper()
	expr := regexp.MustCompile(pattern)
	var found []string
	x.until(func(picture string) bool { found = expr.FindStringSubmatch(picture); return found != nil }, pattern)
	return found[len(found)-1]
}

func (x *terminal) until(holds func(picture string) bool, what string) {
	x.t.Helper()
	over := false
	timer := time.AfterFunc(patience, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		over = true
		x.drawn.Broadcast()
	})
	defer timer.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for !holds(x.picture.String()) {
		if over || x.closed {
			x.t.Fatalf("the screen does not show %s:\n%s", what, x.picture.String())
		}
		x.drawn.Wait()
	}
}

func (x *terminal) resize(columns, rows int) {
	x.t.Helper()
	x.mu.Lock()
	x.picture.Resize(columns, rows)
	x.mu.Unlock()
	if err := pty.Setsize(x.pty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the program's end and gives its exit code; the terminal must be
// as it was: no alternate screen, a cursor, echo and lines.
func (x *terminal) ends() int {
	x.t.Helper()
	code := 0
	var exit *exec.ExitError
	if err := x.command.Wait(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		x.t.Fatal(err)
	}
	x.read.Wait() // what it wrote last
	x.restored()
	return code
}

// restored waits until the terminal is as it was.
func (x *terminal) restored() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	wrong := ""
	if !informers.Until(ctx, patience, func() bool { wrong = x.unlike(); return wrong == "" }) {
		x.t.Error(wrong)
	}
}

// unlike says in what the terminal differs from an untouched one.
func (x *terminal) unlike() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	bytes := x.raw.String()
	state, err := term.GetState(int(x.pty.Fd()))
	switch {
	case x.picture.Mode()&vt10x.ModeAltScreen != 0:
		return "the alternate screen was not left"
	case !x.picture.CursorVisible():
		return "the cursor is hidden"
	case strings.Count(bytes, "\x1b[?2004h") > strings.Count(bytes, "\x1b[?2004l"):
		return "bracketed paste was left on"
	case err == nil && !reflect.DeepEqual(state, fresh(x.t)):
		return "the terminal was left raw"
	}
	return ""
}

// fresh is the state of a terminal that nobody has touched.
func fresh(t testing.TB) *term.State {
	t.Helper()
	control, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	defer tty.Close()
	state, err := term.GetState(int(control.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// child is the process of the sandbox's control plane.
func (x *terminal) child() *os.Process {
	x.t.Helper()
	p, err := os.FindProcess(x.childOf(x.screen()))
	if err != nil {
		x.t.Fatal(err)
	}
	return p
}

// screen is the process that draws, a child of the one that was started.
func (x *terminal) screen() int { return x.childOf(x.command.Process.Pid) }

func (x *terminal) childOf(pid int) int {
	x.t.Helper()
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	if err != nil {
		x.t.Skip("pgrep is not here to find the program's child")
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		x.t.Fatalf("want one child: %q", out)
	}
	return child
}

func (x *terminal) signal(s syscall.Signal) {
	x.t.Helper()
	if err := x.command.Process.Signal(s); err != nil {
		x.t.Fatal(err)
	}
}
