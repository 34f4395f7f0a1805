package settle

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// firstReport is how long a wait lasts before the first report.
	firstReport = 5 * time.Second
	// longestPause bounds the time between two reports, which doubles.
	longestPause = 5 * time.Minute
)

// Pause is the time before the nth report of a wait, counted from 0: 5s, 10s, 20s
// and so on, up to 5m.
func Pause(n int) time.Duration {
	pause := firstReport
	for range n {
		if pause >= longestPause/2 {
			return longestPause
		}
		pause *= 2
	}
	return pause
}

// Waiting describes what a wait is waiting for.
type Waiting struct {
	// For is how long the wait has lasted.
	For time.Duration
	// Items are the first of what is not idle, longest first; Total counts all of them.
	Items []Item
	Total int
}

// Item is one thing that is not idle.
type Item struct {
	// Text names it: "job-controller: shop/migrate is being processed".
	Text string
	// For is how long every check has found it so, within the limit on reasons; for a
	// key that is processed repeatedly, the last time only.
	For time.Duration
}

// watchman records since when each reason has been given, and when the next report is
// due.
type watchman struct {
	begun, due time.Time
	reports    int
	since      map[string]time.Time
}

func newWatchman(now time.Time) *watchman {
	return &watchman{begun: now, due: now.Add(Pause(0)), since: map[string]time.Time{}}
}

// see processes a check.
func (w *watchman) see(r *reasons, now time.Time) {
	if r.more == 0 && len(w.since) > len(r.lines) {
		given := map[string]bool{}
		for _, line := range r.lines {
			given[subject(line)] = true
		}
		for s := range w.since {
			if !given[s] {
				delete(w.since, s)
			}
		}
	}
	if r.more > 0 && len(w.since) > 50*maxReasons {
		clear(w.since) // it was long ago that all of them could be told apart
	}
	for _, line := range r.lines {
		if s := subject(line); w.since[s].IsZero() {
			w.since[s] = now
		}
	}
}

// report returns the report if it is due.
func (w *watchman) report(r *reasons, now time.Time) (Waiting, bool) {
	if now.Before(w.due) {
		return Waiting{}, false
	}
	w.reports++
	w.due = now.Add(Pause(w.reports))
	out := Waiting{For: now.Sub(w.begun), Total: r.total()}
	for _, line := range r.lines {
		out.Items = append(out.Items, Item{Text: line, For: now.Sub(w.since[subject(line)])})
	}
	slices.SortStableFunc(out.Items, func(a, b Item) int { return cmp.Compare(b.For, a.For) })
	return out, true
}

// subject is a reason without its counts and durations, which change while it stays the
// same.
func subject(reason string) string {
	words := strings.Fields(reason)
	for i, word := range words {
		if _, err := strconv.Atoi(word); err == nil {
			words[i] = "#"
		} else if _, err := time.ParseDuration(word); err == nil {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}
