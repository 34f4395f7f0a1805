package settle

import "time"

const (
	// confirmAfter is how far apart the two looks are that make sure of rest.
	// It covers work that for a moment shows nowhere: a volume operation before
	// its first write, a status that admission writes.
	confirmAfter = 50 * time.Millisecond
	// steadyAfter is how long nothing may have to be done before it no longer
	// matters that something changes all the time. Else a large cluster, whose
	// nodes' heartbeats come more often than every confirmAfter, would never
	// be at rest.
	steadyAfter = time.Second
)

// stillness makes sure of rest by more than one look. The zero stillness has
// seen none.
type stillness struct {
	// quiet is the first of the looks that saw nothing move and no change
	// between them, at quietSince.
	quiet      glance
	quietSince time.Time
	// busySince is when the looks began to see something move, zero if the last
	// did not. steadySince is the first look that did not since something moved
	// for longer than confirmAfter; shorter it is a heartbeat's write.
	busySince, steadySince time.Time
}

// confirm takes the next look, made at now, and reports whether the loops are at
// rest: nothing moves, and either nothing has changed since a look confirmAfter
// before, or nothing but passing writes has moved for steadyAfter.
func (s *stillness) confirm(l glance, now time.Time) bool {
	if l.busy.total() > 0 {
		s.quietSince = time.Time{}
		if s.busySince.IsZero() {
			s.busySince = now
		}
		if now.Sub(s.busySince) > confirmAfter {
			s.steadySince = time.Time{}
		}
		return false
	}
	s.busySince = time.Time{}
	if s.steadySince.IsZero() {
		s.steadySince = now
	}
	if l.moved {
		s.quietSince = time.Time{}
		return false
	}
	if s.quietSince.IsZero() || l.loops != s.quiet.loops || l.writes != s.quiet.writes {
		s.quiet, s.quietSince = l, now
	}
	return now.Sub(s.quietSince) >= confirmAfter || now.Sub(s.steadySince) >= steadyAfter
}
