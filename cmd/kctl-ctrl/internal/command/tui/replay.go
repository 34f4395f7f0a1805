package tui

import (
	"context"
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/tuibackend"
	"github.com/kctl-ctrl/kctl-ctrl/tui"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// replay shows a recording. Nothing of a cluster is asked.
func (o *Options) replay(ctx context.Context, theme *widget.Theme) error {
	player, err := recording.Play(o.from)
	if err != nil {
		return err
	}
	defer player.Close()
	ctx, cancel := o.Ending().Context(ctx)
	defer cancel()
	screened := screenPlayer{player}
	options := tui.Options{
		Parts:   page.Parts{Theme: theme, Location: time.Local, Player: screened, Missing: "this is a recording"},
		Journal: playerJournal{player},
		Start:   o.page,
		Open:    o.open,
		Now:     screened.Position,
	}
	if o.Plain { // lines have no keys: the recording as it was at its end
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

var _ port.Recorder = (*tuibackend.Recorder)(nil)
