package settle

import "time"

const (
	// confirmAfter is the time between the two checks that confirm a settled state. It
	// covers work that is not visible for a moment: a volume operation before its first
	// write, a status that admission writes.
	confirmAfter = 50 * time.Millisecond
	// steadyAfter is the time without work after which continuous changes no longer
	// matter. Otherwise a large cluster, whose nodes send heartbeats more often than
	// every confirmAfter, would never be settled.
	steadyAfter = time.Second
)

// stillness confirms a settled state by more than one check. The zero stillness has
// seen none.
type stillness struct {
	// quiet is the first of the checks that found nothing in progress and no change
	// since, at quietSince.
	quiet      glance
	quietSince time.Time
	// busySince is when checks started to find work in progress, zero if the last did
	// not. steadySince is the first check that found none since work took longer than
	// confirmAfter; shorter work is a heartbeat's write.
	busySince, steadySince time.Time
}

// confirm processes the next check, made at now, and reports whether the controllers
// are settled: nothing is in progress, and either nothing has changed since a check
// confirmAfter before, or only short writes have been in progress for steadyAfter.
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
