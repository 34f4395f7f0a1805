package page

import (
	"context"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Parts are what pages are given of a session. Each that is nil switches off the
// keys that need it.
type Parts struct {
	Theme *widget.Theme

	Loops     port.Loops
	Approvals port.Approvals
	Command   port.Command
	Caches    port.Caches
	Owners    port.Owners
	Revisions port.Revisions
	Leases    port.Leases
	Active    port.Active
	Player    port.Player

	// Missing says why a part is nil: "this is a recording". It ends no sentence.
	Missing string
	// Observing: no loop of this process runs until the user starts one.
	Observing bool
	// Location is that of the times shown; UTC where it is nil.
	Location *time.Location
}

// Env is what pages read. It belongs to the program's goroutine.
type Env struct {
	*Parts
	// Ctx ends with the program: commands give up with it.
	Ctx context.Context
	// Snap is the snapshot shown, never nil; Latest is the newest, which differs
	// while the screen is paused.
	Snap, Latest *state.Snapshot
	Now          time.Time
	Trends       trends
	Paused       bool
	// Connecting: Connect has not returned yet.
	Connecting bool
}

// Without says why an action cannot be done, for a part that is there or not.
func (e *Env) Without(have bool) string {
	switch {
	case have:
		return ""
	case e.Connecting:
		return "still connecting"
	case e.Missing != "":
		return e.Missing
	}
	return "not available in this session"
}

// Ago is how long before now, for a column: "3s", "5m"; empty for the zero time.
func (e *Env) Ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return widget.Age(e.Now.Sub(at))
}

// In is how long from now on; what is over is "now".
func (e *Env) In(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := at.Sub(e.Now)
	if d <= 0 {
		return "now"
	}
	if d < 10*time.Second {
		return state.Short(d.Round(100 * time.Millisecond))
	}
	return widget.Age(d)
}

// Clock is a time of the day, to the millisecond; with its date where that is
// another day.
func (e *Env) Clock(at time.Time) string {
	switch d := e.Now.Sub(at); {
	case at.IsZero():
		return ""
	case d > 24*time.Hour || d < -24*time.Hour:
		return at.In(e.Zone()).Format("2006-01-02 15:04:05")
	}
	return at.In(e.Zone()).Format("15:04:05.000")
}

// Zone is the location of the times shown.
func (e *Env) Zone() *time.Location {
	if e.Location != nil {
		return e.Location
	}
	return time.UTC
}
