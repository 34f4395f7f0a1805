package render

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Times prints times in tables: as ages for people, as RFC 3339 in UTC for
// those who read a pipe.
type Times struct {
	// Now is the time that ages are counted from.
	Now time.Time
	// Ages is set on a terminal.
	Ages bool
}

// Since is how long ago a time was, as kubectl prints ages: "3m12s". Without a time
// it is NoFigure.
func (t Times) Since(at time.Time) string {
	switch {
	case at.IsZero():
		return NoFigure
	case !t.Ages:
		return at.UTC().Format(time.RFC3339)
	}
	return duration.HumanDuration(t.Now.Sub(at))
}

// Until is Since for a time to come: "in 12s", and "12s ago" once it has come.
func (t Times) Until(at time.Time) string {
	switch {
	case at.IsZero():
		return NoFigure
	case !t.Ages:
		return at.UTC().Format(time.RFC3339)
	case at.After(t.Now):
		return "in " + duration.HumanDuration(at.Sub(t.Now))
	}
	return duration.HumanDuration(t.Now.Sub(at)) + " ago"
}
