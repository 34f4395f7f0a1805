package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/supervise"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/tuibackend"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// runScreen runs the command behind the screen, until the user leaves that. The
// command may have ended before: what it did is still there to be looked at.
func (o *Options) runScreen(ctx context.Context, mode state.Mode, objects []plan.Object, asking *CommandAsking, args []string) error {
	if !console.IsTerminal(o.In) || !console.IsTerminal(o.Out) || os.Getenv("TERM") == "dumb" {
		return errors.New("--tui needs a terminal: leave it out, and the journal is printed as lines")
	}
	theme, err := tuibackend.Theme(o.theme, o.Out, os.Getenv)
	if err != nil {
		return err
	}
	if err, done := supervise.Run(ctx, o.IOStreams); done {
		return err
	}
	command, err := o.screenCommand(args)
	if err != nil {
		return err
	}
	defer command.Close()
	lines, err := o.journalOut()
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }()

	ctx, cancel := console.EndingOfScreen(commandEndsWithin, o.IOStreams).Context(ctx)
	defer cancel()
	others := slices.DeleteFunc(PassedSignals(), func(s os.Signal) bool { return slices.Contains(console.ScreenSignals(), s) })
	ctx, signals := PassSignals(ctx, console.Discard{}, asking.passed(others)...)
	defer signals.Stop()
	e, recorder, stop, err := o.engine(mode, asking, 3*time.Second, nil)
	if err != nil {
		return err
	}
	defer stop()
	var printer *follow.Printer
	if o.journalFile != "" {
		printer = follow.Print(&o.journal, genericiooptions.IOStreams{In: o.In, Out: lines, ErrOut: o.ErrOut}, e, nil)
	}
	// Only leaving the screen ends the command: a signal leaves it.
	working, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	behind := &behindScreen{command: command, ended: make(chan struct{})}
	err = tuibackend.Show(ctx, tui.Options{
		Parts:    page.Parts{Theme: theme, Location: time.Local},
		Journal:  tuibackend.Journal{Hub: e.Journal()},
		Now:      time.Now,
		Requests: e.Requests,
		Connect: func(ctx context.Context) (func(*tui.Options), error) {
			parts, err := o.connectScreen(ctx, e, objects, command)
			if err != nil {
				return nil, err
			}
			behind.start(func() error { return command.Run(working, &signals.Signals, e.Lost(), e.Err) })
			return func(t *tui.Options) { parts(t); t.Command = behind }, nil
		},
	}, o.IOStreams)
	if gate := e.Gate(); gate != nil {
		gate.Close()
	}
	leave(child.ErrLeft)
	ended := behind.wait(func() {
		fmt.Fprintf(o.ErrOut, "waiting for the command to end; it is killed after %s\n", child.EndWithin)
	})
	engineflags.ShutDown(e, o.ErrOut)
	recorder.Wait()
	if printer != nil {
		printer.Wait()
	}
	behind.tell(o.ErrOut)
	if err != nil {
		return err
	}
	return o.report(e, ended, printer, recorder)
}

// connectScreen starts what is behind the screen, but for the command.
func (o *Options) connectScreen(ctx context.Context, e *engine.Engine, objects []plan.Object, command *UserCommand) (func(*tui.Options), error) {
	if err := o.prepare(ctx, e, objects, command); err != nil {
		return nil, err
	}
	var reading *rest.Config
	var kubeconfig string
	var err error
	if o.sandboxed {
		if reading, err = e.ReadOnlyConfig(); err == nil {
			kubeconfig, err = e.Sandbox().WriteKubeconfig("")
		}
	} else {
		reading, err = cliflags.ReadOnlyConfig(o.Kubeconfig)
	}
	if err != nil {
		return nil, explain.Cause(ctx, err)
	}
	return tuibackend.Parts(e, reading, *o.Kubeconfig.Namespace, kubeconfig)
}

// screenCommand is a command that has nothing of the terminal: what it prints goes
// to a file, and it is ended with all that it has started.
func (o *Options) screenCommand(args []string) (*UserCommand, error) {
	if _, err := exec.LookPath(args[0]); err != nil {
		return nil, fmt.Errorf("run %s: %w", args[0], err)
	}
	path := o.OutputFile
	if path == "" {
		var err error
		if path, err = NewOutputPath(filepath.Base(args[0])); err != nil {
			return nil, err
		}
	}
	file, err := o.OpenOutput(path)
	if err != nil {
		return nil, err
	}
	c := &UserCommand{Command: child.Command{Args: args, Apart: true, Whole: true}}
	c.SendOutput(file, path)
	return c, nil
}

// MostOutputs bounds the files of earlier commands that are kept.
const MostOutputs = 20

// NewOutputPath names a file for what a command prints, and removes old ones.
func NewOutputPath(command string) (string, error) {
	dir, err := about.StateDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "exec")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory for what commands print: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(dir, "????-??-??T??????-*.log")) // by time
	if err == nil && len(old) >= MostOutputs {
		for _, file := range old[:len(old)-MostOutputs+1] {
			_ = os.Remove(file)
		}
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%d-%s.log", time.Now().Format("2006-01-02T150405"), os.Getpid(), command)), nil
}

// behindScreen is the command in the hands of the screen.
type behindScreen struct {
	command *UserCommand
	ended   chan struct{}

	mu      sync.Mutex
	started bool
	left    bool
	err     error // once ended is closed
}

var _ port.Command = (*behindScreen)(nil)

// start runs the command, unless the user has left meanwhile.
func (b *behindScreen) start(run func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left {
		return
	}
	b.started = true
	go func() {
		b.err = run()
		close(b.ended)
	}()
}

// wait returns what the command came to; it is not started any more. waiting is
// called where that will take some time.
func (b *behindScreen) wait(waiting func()) error {
	b.mu.Lock()
	b.left = true
	started := b.started
	b.mu.Unlock()
	if !started {
		return nil
	}
	timer := time.AfterFunc(time.Second, waiting)
	defer timer.Stop()
	<-b.ended
	return b.err
}

// Ended implements port.Command.
func (b *behindScreen) Ended() <-chan struct{} { return b.ended }

// How implements port.Command.
func (b *behindScreen) How() (text string, failed bool) {
	<-b.ended
	var exit *child.ExitError
	switch {
	case b.err == nil:
		return "has ended with exit code 0", false
	case errors.As(b.err, &exit):
		return fmt.Sprintf("has ended with exit code %d", exit.Code), exit.Code != 0
	}
	return "has ended: " + state.OneLine(b.err.Error()), true
}

// Output implements port.Command.
func (b *behindScreen) Output(most int) (file string, lines []string, err error) {
	lines, err = lastLines(b.command.outputPath, most)
	return b.command.outputPath, lines, err
}

// tell says where the output is, and how it ended where the command has failed.
func (b *behindScreen) tell(out io.Writer) {
	b.mu.Lock()
	started := b.started
	b.mu.Unlock()
	if !started {
		return
	}
	const most = 10
	file, lines, err := b.Output(most)
	how, failed := b.How()
	text := fmt.Sprintf("the command %s; what it printed is in %s", how, file)
	switch {
	case err != nil:
		text += fmt.Sprintf(" (%v)", err)
	case failed && len(lines) > 0:
		text += ", and at last:\n  " + strings.Join(lines, "\n  ")
	}
	fmt.Fprintln(out, render.SanitiseKeeping(text, render.KeepLines))
}

// lastLines reads the last lines of a file, without what colours them.
func lastLines(path string, most int) ([]string, error) {
	const tail = 256 << 10
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(info.Size()-tail, 0)
	text, err := io.ReadAll(io.NewSectionReader(file, from, tail))
	if err != nil {
		return nil, err
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n")) // a part of a line
	}
	text = bytes.TrimRight(text, "\n")
	if len(text) == 0 {
		return nil, nil
	}
	lines := strings.Split(string(text), "\n")
	lines = lines[max(len(lines)-most, 0):]
	for i, line := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(line), "\r")
	}
	return lines, nil
}
