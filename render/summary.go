package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// SummaryOptions shape a Summary.
type SummaryOptions struct {
	Width int
	Color bool
	// Now is the time to which due times relate; the snapshot's where it is
	// zero.
	Now time.Time
	// MaxTimers bounds the list of due timers; 20 where it is zero.
	MaxTimers int
}

// WriteSummary prints what a run closes with: a row per controller that did
// anything, the retries and timers that are still due, and what is missing from
// the picture, if anything is.
func WriteSummary(w io.Writer, s *state.Snapshot, opts SummaryOptions) error {
	if opts.MaxTimers <= 0 {
		opts.MaxTimers = 20
	}
	if opts.Now.IsZero() {
		opts.Now = s.At
	}
	table, idle := SummaryTable(s)
	var out strings.Builder
	out.WriteString(table.Text(TableOptions{Width: opts.Width, Color: opts.Color}))
	if idle > 0 {
		fmt.Fprintf(&out, "%s had nothing to do.\n", counted(idle, "other controller", "other controllers"))
	}
	due := DueTimers(s)
	if len(due) > 0 {
		fmt.Fprintf(&out, "\nStill due (%d):\n", len(due))
		for _, t := range due[:min(len(due), opts.MaxTimers)] {
			out.WriteString(line{{"  " + t.Describe(opts.Now), plain}}.draw(opts.Width, opts.Color) + "\n")
		}
		if more := len(due) - opts.MaxTimers; more > 0 {
			fmt.Fprintf(&out, "  and %d more\n", more)
		}
	}
	for _, missing := range Losses(s) {
		out.WriteString(line{{missing, yellow}}.draw(opts.Width, opts.Color) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// SummaryTable has a row per controller that synced, wrote or failed, and
// counts the loops that did neither.
func SummaryTable(s *state.Snapshot) (t Table, idle int) {
	t.Columns = []Column{
		{Title: "CONTROLLER"},
		{Title: "SYNCS", Right: true},
		{Title: "ERRORS", Right: true},
		{Title: "RETRIES", Right: true},
		{Title: "WRITES", Right: true},
		{Title: "P50", Right: true},
		{Title: "P99", Right: true},
		{Title: "LAST ERROR", Max: 80},
	}
	for _, c := range s.Controllers.All() {
		if c.Syncs+c.Writes.Total()+c.Retries == 0 && c.LastError == "" {
			if c.Status != state.ControllerOff && c.Status != "" {
				idle++
			}
			continue
		}
		p50, p99 := "-", "-"
		if c.Syncs > 0 {
			p50, p99 = roughly(c.P50()), roughly(c.P99())
		}
		t.Rows = append(t.Rows, []string{
			c.Name, number(c.Syncs), number(c.Errors), number(c.Retries), writes(c.Writes), p50, p99, lastError(c),
		})
	}
	return t, idle
}

// writes is the number of writes, with what was not carried out set apart.
func writes(w state.WriteCounts) string {
	text := number(w.Done)
	if w.Dry > 0 {
		text = number(w.Dry) + " dry"
		if w.Done > 0 {
			text = number(w.Done) + "+" + text
		}
	}
	if w.Refused > 0 {
		text += ", " + number(w.Refused) + " refused"
	}
	if w.Failed > 0 {
		text += ", " + number(w.Failed) + " failed"
	}
	return text
}

func lastError(c *state.Controller) string {
	if c.LastErrorKey == "" {
		return c.LastError
	}
	return strings.TrimSuffix(c.LastErrorKey+": "+c.LastError, ": ")
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// roughly shows a quantile in two figures: it is not known any better.
func roughly(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return state.Short(d.Round(unit))
}

// Timer is a queue key that becomes ready at a known time.
type Timer struct {
	Controller string    `json:"controller"`
	Queue      string    `json:"queue"`
	Key        string    `json:"key"`
	Due        time.Time `json:"due"`
	// Retries is not zero where the time is that of a retry.
	Retries int `json:"retries,omitempty"`
}

// Describe says it in words: "deployment shop/web due in 10m0s (retry 3)".
func (t Timer) Describe(now time.Time) string {
	text := ShortName(t.Controller) + " " + t.Key
	if wait := t.Due.Sub(now); wait > 0 {
		text += " due in " + state.Short(wait)
	} else {
		text += " due now"
	}
	if t.Retries > 0 {
		text += fmt.Sprintf(" (retry %d)", t.Retries)
	}
	return text
}

// DueTimers lists the keys with a delay pending, the first due first.
func DueTimers(s *state.Snapshot) []Timer {
	var due []Timer
	for _, k := range s.Keys.All() {
		if !k.Due.IsZero() {
			due = append(due, Timer{Controller: k.Controller, Queue: k.Queue, Key: k.Key, Due: k.Due, Retries: k.Retries})
		}
	}
	slices.SortStableFunc(due, func(a, b Timer) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key)) })
	return due
}

// Losses says, a sentence each, what is missing from a snapshot: entries that
// were dropped or lost, rows for which there was no room. History that made
// room for newer is not a loss.
func Losses(s *state.Snapshot) []string {
	var out []string
	for where, n := range s.Dropped.All() {
		out = append(out, fmt.Sprintf("The journal is incomplete: %d entries were dropped at %s.", n, where))
	}
	if s.Lost > 0 {
		out = append(out, fmt.Sprintf("The journal is incomplete: %d entries are missing from its numbering.", s.Lost))
	}
	for name, n := range s.Unknown.All() {
		out = append(out, fmt.Sprintf("%d entries of type %s could not be read.", n, name))
	}
	for _, b := range s.Bounds() {
		if b.Dropped > 0 && !b.History {
			out = append(out, fmt.Sprintf("The picture is incomplete: %d %s found no room (the bound is %d).", b.Dropped, b.Name, b.Limit))
		}
	}
	return out
}
