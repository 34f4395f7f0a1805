package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/tui"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// replay shows a recording. Nothing of a cluster is asked.
func (o *tuiOptions) replay(ctx context.Context, theme *widget.Theme) error {
	player, err := recording.Play(o.from)
	if err != nil {
		return err
	}
	defer player.Close()
	ctx, cancel := o.ending().Context(ctx)
	defer cancel()
	screened := screenPlayer{player}
	options := tui.Options{
		Parts:   page.Parts{Theme: theme, Location: time.Local, Player: screened, Missing: "this is a recording"},
		Journal: playerJournal{player},
		Start:   o.page,
		Open:    o.open,
		Now:     screened.Position,
	}
	if o.plain { // lines have no keys: the recording as it was at its end
		if err := player.Wait(ctx); err != nil {
			return explain.Cause(ctx, err)
		}
		if err := player.Seek(player.Status().End); err != nil {
			return err
		}
		options.Once = true
	}
	return o.show(ctx, options)
}

// playerJournal is a recording as the screen reads it.
type playerJournal struct{ player *recording.Player }

func (j playerJournal) Next(ctx context.Context, last *state.Snapshot) (*state.Snapshot, error) {
	if last == nil {
		return j.player.Snapshot(), nil
	}
	return j.player.Next(ctx, last.Seq)
}

// screenPlayer moves through a recording for the screen.
type screenPlayer struct{ *recording.Player }

var _ port.Player = screenPlayer{}

func (p screenPlayer) Position() time.Time { return p.Status().Now }
func (p screenPlayer) Playing() bool       { return p.Status().Playing }
func (p screenPlayer) Speed() float64      { return p.Status().Speed }

func (p screenPlayer) Range() (from, to time.Time) {
	s := p.Status()
	return s.Start, s.End
}

func (p screenPlayer) SeekError(back bool) (bool, error) {
	if back {
		return p.PreviousError()
	}
	return p.NextError()
}

// Remarks say what is wrong with the recording.
func (p screenPlayer) Remarks() string {
	switch s := p.Status(); {
	case s.Loading:
		return fmt.Sprintf("reading, %d entries so far", s.Entries)
	case s.Problem != "":
		return s.Problem
	case s.Unknown > 0:
		return fmt.Sprintf("%d lines could not be read", s.Unknown)
	}
	return ""
}

// screenRecorder saves the journal of a session to a file.
type screenRecorder struct {
	journal *hub.Hub

	mu     sync.Mutex
	writer *recording.Writer
}

var _ port.Recorder = (*screenRecorder)(nil)

// Toggle begins a recording, named by its time, or ends the one under way.
func (r *screenRecorder) Toggle() (string, error) {
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
	noteFailure(r.journal, r.writer)
	return "Recording to " + path + "; S ends it.", nil
}

func (r *screenRecorder) File() string {
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
func (r *screenRecorder) close() error {
	r.mu.Lock()
	none := r.writer == nil
	r.mu.Unlock()
	if none {
		return nil
	}
	_, err := r.Toggle()
	return err
}
