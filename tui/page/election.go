package page

import (
	"cmp"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Standing is how this process stands, or that of the recording did; the zero value
// where it has no active mode.
func (e *Env) Standing() state.ActiveChanged {
	if is := e.Latest.Controls.Active; is != nil {
		return *is
	}
	return state.ActiveChanged{}
}

// Acquired is when this process began to lead, as far as the journal's notes go back.
func Acquired(s *state.Snapshot) time.Time {
	for entry := range s.Notes.Backward() {
		if step, ok := entry.Event.(state.ElectionChanged); ok && step.Phase == state.ElectionAcquired {
			return entry.At
		}
	}
	return s.Election.At
}

// LeaderName is the host of a holder, as its identity begins with it.
func LeaderName(holder string) string {
	host, _, _ := strings.Cut(holder, "_")
	return cmp.Or(host, holder) + state.HolderMark(holder)
}

// AlarmFor is how long the alarm stands.
const AlarmFor = time.Minute

// Alarming is a page with something that must not be missed, whatever is shown.
type Alarming interface {
	// Alarm is empty where there is nothing.
	Alarm(*Env) string
}
