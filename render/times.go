package render

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Times formats times in tables: as ages on a terminal, as RFC 3339 in UTC in a pipe.
type Times struct {
	// Now is the reference for ages.
	Now time.Time
	// Ages is set on a terminal.
	Ages bool
}

// Since is the time elapsed since a time, as kubectl prints ages: "3m12s". It is
// NoFigure for the zero time.
func (t Times) Since(at time.Time) string {
	switch {
	case at.IsZero():
		return NoFigure
	case !t.Ages:
		return at.UTC().Format(time.RFC3339)
	}
	return duration.HumanDuration(t.Now.Sub(at))
}

// Until is Since for a future time: "in 12s", and "12s ago" once it has passed.
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
