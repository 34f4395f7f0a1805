package tui

import (
	"context"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Parts are what pages are given of a session. Each that is nil switches off the
// keys that need it.
type Parts struct {
	Theme *widget.Theme

	Loops     Loops
	Approvals Approvals
	Command   Command
	Caches    Caches
	Owners    Owners
	Revisions Revisions
	Leases    Leases
	Active    Active
	Player    Player

	// Missing says why a part is nil: "this is a recording". It ends no sentence.
	Missing string
	// Observing: no loop of this process runs until the user starts one.
	Observing bool
	// Location is that of the times shown; UTC where it is nil.
	Location *time.Location
}

// env is what pages read. It belongs to the program's goroutine.
type env struct {
	*Parts
	// ctx ends with the program: commands give up with it.
	ctx context.Context
	// snap is the snapshot shown, never nil; latest is the newest, which differs
	// while the screen is paused.
	snap, latest *state.Snapshot
	now          time.Time
	trends       trends
	paused       bool
	// connecting: Connect has not returned yet.
	connecting bool
}

// without says why an action cannot be done, for a part that is there or not.
func (e *env) without(have bool) string {
	switch {
	case have:
		return ""
	case e.connecting:
		return "still connecting"
	case e.Missing != "":
		return e.Missing
	}
	return "this session has no such part"
}

// ago is how long before now, for a column: "3s", "5m"; empty for the zero time.
func (e *env) ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return widget.Age(e.now.Sub(at))
}

// in is how long from now on; what is over is "now".
func (e *env) in(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := at.Sub(e.now)
	if d <= 0 {
		return "now"
	}
	if d < 10*time.Second {
		return state.Short(d.Round(100 * time.Millisecond))
	}
	return widget.Age(d)
}

// clock is a time of the day, to the millisecond; with its date where that is
// another day.
func (e *env) clock(at time.Time) string {
	switch d := e.now.Sub(at); {
	case at.IsZero():
		return ""
	case d > 24*time.Hour || d < -24*time.Hour:
		return at.In(e.location()).Format("2006-01-02 15:04:05")
	}
	return at.In(e.location()).Format("15:04:05.000")
}

func (e *env) location() *time.Location {
	if e.Location != nil {
		return e.Location
	}
	return time.UTC
}
