// Package tuibackend implements what the pages of the TUI ask beyond the journal: caches,
// owners, leases, revisions and controllers, over an engine or a cluster alone. Parts puts
// them together; Show runs the TUI on a terminal.
package tuibackend

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"

	"context"
	"slices"

	"github.com/muesli/termenv"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/tui"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Recorder saves the journal of a session to a file.
type Recorder struct {
	journal *hub.Hub

	mu     sync.Mutex
	writer *recording.Writer
}

// Toggle begins a recording, named by its time, or ends the one under way.
func (r *Recorder) Toggle() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != nil {
		err := r.writer.Close()
		stats := r.writer.Stats()
		r.writer = nil
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Saved %d entries, %s, to %s.", stats.Entries, printing.Size(stats.Bytes), stats.Path), nil
	}
	dir, err := about.RecordingsDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory for recordings: %w", err)
	}
	path := filepath.Join(dir, time.Now().Format("2006-01-02T150405")+".jsonl.zst")
	r.writer, err = recording.Start(r.journal, path, recording.WriterOptions{Version: about.Version().Version})
	if err != nil {
		r.writer = nil
		return "", err
	}
	engineflags.NoteFailure(r.journal, r.writer)
	return "Recording to " + path + "; S ends it.", nil
}

// File is where it records to, or nothing.
func (r *Recorder) File() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer == nil {
		return ""
	}
	stats := r.writer.Stats()
	if stats.Err != nil {
		return "" // nothing more is written: Toggle says why
	}
	return stats.Path
}

// close ends a recording that is under way.
func (r *Recorder) close() error {
	r.mu.Lock()
	none := r.writer == nil
	r.mu.Unlock()
	if none {
		return nil
	}
	_, err := r.Toggle()
	return err
}

// CompleteThemes completes --theme.
func CompleteThemes(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return complete.StartingWith(word, widget.Themes()), cobra.ShellCompDirectiveNoFileComp
}

// Show runs the screen until the user leaves.
func Show(ctx context.Context, options tui.Options, streams genericiooptions.IOStreams) error {
	if file, ok := streams.Out.(*os.File); ok {
		options.Copy = copyText(file, nativeClipboard())
	}
	screen := tui.NewScreen(ctx, options, streams.In, streams.Out)
	defer restoreOnCrash(screen)()
	return screen.Run()
}

// OrNow is the clock, or time.Now.
func OrNow(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// restoreOnCrash gives the terminal back before upstream ends the process: by a
// panic in a goroutine of a loop, or by klog's Fatal.
func restoreOnCrash(screen *tui.Screen) (undo func()) {
	handlers, exit := runtime.PanicHandlers, klog.OsExit
	runtime.PanicHandlers = append([]func(context.Context, any){func(context.Context, any) {
		if runtime.ReallyCrash {
			screen.Restore()
		}
	}}, slices.Clip(handlers)...)
	klog.OsExit = func(code int) {
		screen.Restore()
		exit(code)
	}
	return func() { runtime.PanicHandlers, klog.OsExit = handlers, exit }
}

// Parts are what the screen asks of an engine, by a config that only reads.
func Parts(e *engine.Engine, reading *rest.Config, namespace, kubeconfig string) (func(*tui.Options), error) {
	reading.Wrap(e.CountRequests)
	reading.Wrap(e.Watches().Wrap)
	caches, err := newScreenCaches(e, reading, namespace)
	if err != nil {
		return nil, err
	}
	e.OnStop(func(context.Context) error { caches.close(); return nil })
	following, stop := context.WithCancel(context.Background())
	elections, err := newScreenLeases(following, reading, e.Journal())
	e.OnStop(func(context.Context) error {
		stop()
		if elections != nil {
			elections.wait()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	recorder := &Recorder{journal: e.Journal()}
	e.OnStop(func(context.Context) error { return recorder.close() })
	within := func() string { return namespace }
	families := NewOwners(reading, e.Journal().Flush().Session.Context, within)
	e.OnStop(func(context.Context) error { families.Close(); return nil })
	histories := NewRevisions(reading, within)
	return func(t *tui.Options) {
		if e.Manager() != nil {
			t.Loops = NewLoops(e)
		}
		t.Caches, t.Connection, t.Leases = caches, caches, elections
		t.Recorder, t.Kubeconfig = recorder, kubeconfig
		if e.Gate() != nil {
			t.Approvals = screenApprovals{e}
		}
		t.Owners, t.Revisions = families, histories
		t.Crashed, t.Crash = e.Lost(), e.Err
	}, nil
}

// Journal is the journal of an engine as the screen reads it.
type Journal struct{ Hub *hub.Hub }

// Next implements tui.Journal.
func (j Journal) Next(ctx context.Context, last *state.Snapshot) (*state.Snapshot, error) {
	var after uint64
	if last != nil {
		after = last.Seq
	}
	return j.Hub.Next(ctx, after)
}

// Theme is the theme of that name for the terminal. NO_COLOR, set to anything
// at all (no-color.org), means the mono theme: bold and reverse video are no
// colours, and mark the tab and the row that are selected.
func Theme(name string, out any, getenv func(string) string) (*widget.Theme, error) {
	if _, err := widget.NewTheme(name, termenv.Ascii); err != nil {
		return nil, err
	}
	if getenv("NO_COLOR") != "" {
		name = "mono"
	}
	return widget.NewTheme(name, colourProfile(out, getenv))
}

// colourProfile is what the terminal shows.
func colourProfile(out any, getenv func(string) string) widget.Profile {
	file, ok := out.(*os.File)
	if !ok || getenv("TERM") == "dumb" {
		return termenv.Ascii
	}
	if getenv("NO_COLOR") != "" {
		return termenv.ANSI // which the mono theme uses without its colours
	}
	return termenv.NewOutput(file, termenv.WithUnsafe()).EnvColorProfile()
}
