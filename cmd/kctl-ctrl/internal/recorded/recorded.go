// Package recorded answers from a recording what commands otherwise ask a running process:
// --from and --at, and a Host that stands where that process stood at that time.
package recorded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Flags name a recording, and a time in it, that a verb answers from.
type Flags struct {
	file string
	at   string
	// shown is the time that was answered for.
	shown time.Time
}

// AddTo registers the flags.
func (f *Flags) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "from", "", "answer from this recording instead of a cluster")
	cmd.Flags().StringVar(&f.at, "at", "", "with --from: as it was then, a time (RFC 3339) or a duration from its beginning (1m30s); its end where nothing is said")
	_ = cmd.MarkFlagFilename("from", "jsonl", "zst")
}

// Given reports whether a recording was named.
func (f *Flags) Given() bool { return f.file != "" }

// Check refuses a time without a recording, and one that is none.
func (f *Flags) Check() error {
	if f.at == "" {
		return nil
	}
	if f.file == "" {
		return errors.New("--at is a time in a recording: add --from")
	}
	_, err := f.until(time.Time{})
	return err
}

// until is the time asked for in a recording that begins at start.
func (f *Flags) until(start time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(f.at); err == nil && d >= 0 {
		return start.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339Nano, f.at)
	if err != nil {
		return t, fmt.Errorf("--at %q: want a time such as 2026-01-02T15:04:05Z, or a duration such as 1m30s", f.at)
	}
	return t, nil
}

// Now is the time that was answered for: ages count from it.
func (f *Flags) Now() time.Time { return f.shown }

// snapshot folds the recording up to the time asked for.
func (f *Flags) snapshot(stderr io.Writer) (*state.Snapshot, error) {
	reader, err := recording.Open(f.file, recording.Bounds{})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	snapshot := state.NewSnapshot(state.Limits{})
	var begun, until time.Time
	var batch []state.Entry
	ended := false
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			ended = true
			break
		}
		if err != nil {
			return nil, err
		}
		if f.at != "" {
			if until.IsZero() && !entry.At.IsZero() {
				begun = entry.At
				if until, err = f.until(begun); err != nil {
					return nil, err
				}
			}
			if entry.At.After(until) {
				break
			}
		}
		if batch = append(batch, entry); len(batch) >= 1024 {
			snapshot, batch = state.Fold(snapshot, batch...), batch[:0]
		}
	}
	snapshot = state.Fold(snapshot, batch...)
	f.shown = snapshot.At
	switch {
	case f.at == "":
	case snapshot.Entries == 0:
		return nil, fmt.Errorf("--at %s is before the recording %s begins", f.at, f.file)
	case until.After(snapshot.At):
		f.shown = until
		if ended {
			fmt.Fprintf(stderr, "warning: --at %s is after the end of the recording, at %s (%s after its beginning): this is its end\n",
				f.at, snapshot.At.UTC().Format(time.RFC3339), state.Short(snapshot.At.Sub(begun)))
		}
	}
	return snapshot, Verdict(reader, f.file, stderr)
}

// Host answers as a running process would that is at that point.
func (f *Flags) Host(stderr io.Writer) (attach.Host, error) {
	snapshot, err := f.snapshot(stderr)
	if err != nil {
		return nil, err
	}
	return Host{file: f.file, snapshot: snapshot, now: f.shown}, nil
}

// Host answers from a recording.
type Host struct {
	file     string
	snapshot *state.Snapshot
	now      time.Time
}

// Process is what was recorded, as of the time asked for.
func (h Host) Process() state.Process {
	s := h.snapshot.Session
	return state.Process{
		Source: "recording " + h.file, Version: s.Version, Context: s.Context, Namespace: s.Namespace, Mode: s.Mode,
		Started: h.snapshot.Started,
	}
}

// Queues gives the queues as they stood then.
func (h Host) Queues(_ context.Context, q attach.QueueQuery) ([]state.QueueStats, error) {
	return attach.QueuesOf(h.snapshot, h.now, q.Keys), nil
}

// Informers gives what the journal knows of them. How many handlers there are,
// and when a store moved without an event, it does not tell.
func (h Host) Informers(context.Context) ([]state.StoreStats, error) {
	var stores []state.StoreStats
	for _, i := range h.snapshot.Informers.All() {
		stores = append(stores, state.StoreStats{
			Type: i.Name, Objects: i.Objects, ResourceVersion: i.ResourceVersion, LastMoved: i.LastEvent,
			Synced: i.Status == state.InformerSynced || i.Status == state.InformerRelisted,
		})
	}
	return attach.InformersOf(h.snapshot, stores), nil
}

// Cache fails: a recording has no objects.
func (h Host) Cache(context.Context, attach.CacheQuery) (state.CacheView, error) {
	return state.CacheView{}, errors.New("a recording has no objects: only what happened to them")
}

// controllerList is what `get controllers --from` prints for programs.
type controllerList struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Process    state.Process       `json:"process"`
	At         time.Time           `json:"at"`
	Items      []*state.Controller `json:"items"`
}

// Controllers prints the controllers of the recording.
func (f *Flags) Controllers(streams genericiooptions.IOStreams, printer *printing.Printer, names []string) error {
	snapshot, err := f.snapshot(streams.ErrOut)
	if err != nil {
		return err
	}
	rows, err := chooseControllers(snapshot, names)
	if err != nil {
		return err
	}
	return printer.Print(streams.Out, printing.Found{
		Document: func() any {
			return controllerList{
				APIVersion: about.APIVersion, Kind: "RecordedControllerList", At: f.shown, Items: rows,
				Process: Host{file: f.file, snapshot: snapshot, now: f.shown}.Process(),
			}
		},
		Names: func() []string {
			names := make([]string, len(rows))
			for i, c := range rows {
				names[i] = "controller/" + c.Name
			}
			return names
		},
		Table: func(wide bool) render.Table { return controllerTable(rows, wide) },
	})
}

// chooseControllers gives the loops of a recording, or those that are named: any
// writer that the journal knows.
func chooseControllers(s *state.Snapshot, names []string) ([]*state.Controller, error) {
	rows := []*state.Controller{}
	used := map[string]bool{}
	for _, c := range s.Controllers.All() {
		switch {
		case len(names) == 0 && c.Status != "":
			rows = append(rows, c)
		case slices.Contains(names, c.Name):
			used[c.Name] = true
			rows = append(rows, c)
		case slices.Contains(names, render.ShortName(c.Name)):
			used[render.ShortName(c.Name)] = true
			rows = append(rows, c)
		}
	}
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("no controller %q in this recording: without a name, all are listed", name)
		}
	}
	return rows, nil
}

func controllerTable(rows []*state.Controller, wide bool) render.Table {
	table := render.Table{Columns: []render.Column{
		{Title: "NAME"}, {Title: "STATUS"}, {Title: "DEPTH", Right: true}, {Title: "DELAYED", Right: true}, {Title: "SYNCS", Right: true},
		{Title: "ERRORS", Right: true}, {Title: "RETRIES", Right: true}, {Title: "WRITES", Right: true},
	}}
	if wide {
		table.Columns = append(table.Columns, render.Column{Title: "QUEUES"}, render.Column{Title: "P99", Right: true}, render.Column{Title: "LAST ERROR"})
	}
	table.Columns = append(table.Columns, render.Column{Title: "WHY"})
	count := func(n uint64) string { return strconv.FormatUint(n, 10) }
	for _, c := range rows {
		row := []string{
			c.Name, string(c.Status), strconv.Itoa(c.Now.Ready), strconv.Itoa(c.Now.Waiting), count(c.Syncs),
			count(c.Errors), count(c.Retries), count(c.Writes.Total()),
		}
		if wide {
			p99 := render.NoFigure
			if c.Syncs > 0 {
				p99 = state.Short(c.P99())
			}
			row = append(row, render.OrNone(strings.Join(c.Queues, ",")), p99, render.OrNone(render.Resolved(c.LastError, c.LastErrorCleared)))
		}
		table.Rows = append(table.Rows, append(row, c.Reason))
	}
	return table
}

// Verdict warns of what could not be read. That a program was killed while it
// recorded is no error; that something is missing in the middle is one.
func Verdict(reader *recording.Reader, path string, stderr io.Writer) error {
	if n := reader.Unknown(); n > 0 {
		fmt.Fprintf(stderr, "warning: %s: %d line(s) could not be read\n", path, n)
	}
	switch problem := reader.Problem(); {
	case problem == "":
		return nil
	case reader.Cut():
		fmt.Fprintf(stderr, "warning: %s: %s\n", path, problem)
		return nil
	default:
		return fmt.Errorf("read recording %s: %s", path, problem)
	}
}
