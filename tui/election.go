package tui

import (
	"cmp"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// standing is how this process stands, or that of the recording did; the zero value
// where it has no active mode.
func (e *env) standing() state.ActiveChanged {
	if is := e.latest.Controls.Active; is != nil {
		return *is
	}
	return state.ActiveChanged{}
}

// acquired is when this process began to lead, as far as the journal's notes go back.
func acquired(s *state.Snapshot) time.Time {
	for entry := range s.Notes.Backward() {
		if step, ok := entry.Event.(state.ElectionChanged); ok && step.Phase == state.ElectionAcquired {
			return entry.At
		}
	}
	return s.Election.At
}

// leaderName is the host of a holder, as its identity begins with it.
func leaderName(holder string) string {
	host, _, _ := strings.Cut(holder, "_")
	return cmp.Or(host, holder) + state.HolderMark(holder)
}

// alarmFor is how long the alarm stands.
const alarmFor = time.Minute

// alarming is a page with something that must not be missed, whatever is shown.
type alarming interface {
	// alarm is empty where there is nothing.
	alarm(*env) string
}
