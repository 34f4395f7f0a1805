package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// SummaryOptions control the text of a Summary.
type SummaryOptions struct {
	Width int
	Color bool
	// Now is the reference for due times; the time of the summary if zero.
	Now time.Time
	// MaxTimers bounds the list of delayed keys; 20 if zero.
	MaxTimers int
}

// Summary is the data of the closing summary of a run.
type Summary struct {
	// At is the time of the last entry.
	At time.Time `json:"at,omitzero"`
	// Controllers are those that synced, wrote, retried or failed, by name.
	Controllers []ControllerSummary `json:"controllers"`
	// Idle counts the other controllers that were started.
	Idle int `json:"idle"`
	// Elected: the controllers start only when this process is elected.
	Elected bool `json:"elected,omitempty"`
	// Led: this process has held the lease.
	Led bool `json:"led,omitempty"`
	// Unsynced are the informers that have never delivered a first list, with the
	// reason if known: their controllers have not seen the existing objects.
	Unsynced []string `json:"unsynced,omitempty"`
	// Timers are the delayed keys, earliest first.
	Timers []Timer `json:"timers"`
	// Notes are sentences about the accuracy of the figures.
	Notes []string `json:"notes,omitempty"`
	// Losses are sentences about missing data.
	Losses []string `json:"losses"`
}

// answeredHere is the note on writes of dry-run=client.
const answeredHere = "Dry-run writes were answered by kctl-ctrl: quotas and admission were not checked. Use --dry-run=server to check them."

// ControllerSummary is one controller's row.
type ControllerSummary struct {
	Controller string            `json:"controller"`
	Syncs      uint64            `json:"syncs"`
	Errors     uint64            `json:"errors"`
	Retries    uint64            `json:"retries"`
	Writes     state.WriteCounts `json:"writes"`
	// P50 and P99 are of sync durations, accurate to 1/16; zero if nothing was synced.
	P50 time.Duration `json:"-"`
	P99 time.Duration `json:"-"`
	// LastError belongs to LastErrorKey, or to the controller itself if that is empty.
	// LastErrorCleared is when a later success cleared it; zero if it still applies.
	LastError        string    `json:"lastError,omitempty"`
	LastErrorKey     string    `json:"lastErrorKey,omitempty"`
	LastErrorCleared time.Time `json:"lastErrorCleared,omitzero"`
}

// MarshalJSON writes durations as text, as in recordings.
func (c ControllerSummary) MarshalJSON() ([]byte, error) {
	type fields ControllerSummary
	return json.Marshal(struct {
		fields
		P50 string `json:"p50"`
		P99 string `json:"p99"`
	}{fields(c), c.P50.String(), c.P99.String()})
}

// Summarise returns the summary of a snapshot.
func Summarise(s *state.Snapshot) Summary {
	sum := Summary{At: s.At, Elected: s.Session.Elected, Led: led(s), Unsynced: unsynced(s), Controllers: []ControllerSummary{}, Timers: DueTimers(s), Losses: Losses(s)}
	if s.Session.Mode == state.ModeDryRunClient && answeredDry(s) {
		sum.Notes = append(sum.Notes, answeredHere)
	}
	for _, c := range s.Controllers.All() {
		if c.Syncs+c.Writes.Total()+c.Retries == 0 && c.LastError == "" {
			if c.Status != state.ControllerOff && c.Status != "" {
				sum.Idle++
			}
			continue
		}
		last := s.LastErrorOf(c)
		sum.Controllers = append(sum.Controllers, ControllerSummary{
			Controller: c.Name, Syncs: c.Syncs, Errors: c.Errors, Retries: c.Retries, Writes: c.Writes,
			P50: c.P50(), P99: c.P99(), LastError: last.Text, LastErrorKey: last.Key, LastErrorCleared: last.Cleared,
		})
	}
	return sum
}

func answeredDry(s *state.Snapshot) bool {
	for _, c := range s.Controllers.All() {
		if c.Writes.Dry > 0 {
			return true
		}
	}
	return false
}

// led reports whether the process has held the lease of its election.
func led(s *state.Snapshot) bool {
	if s.Election == nil {
		return false
	}
	switch s.Election.Phase {
	case state.ElectionAcquired, state.ElectionRenewedLate, state.ElectionLost, state.ElectionReleased:
		return true
	}
	return false
}

// unsynced names the informers that have never delivered a first list.
func unsynced(s *state.Snapshot) []string {
	var out []string
	for _, i := range s.Informers.All() {
		switch i.Status {
		case state.InformerListing:
		case state.InformerFailed, state.InformerRelisted:
			if i.ResourceVersion != "" || i.Events > 0 {
				continue // it has synced before
			}
		default:
			continue
		}
		name := i.Name
		if reason := cmp.Or(i.Reason, i.LastGap); reason != "" {
			name += ": " + reason
		}
		out = append(out, name)
	}
	return out
}

// Write prints the summary, in one call of w.Write.
func (s Summary) Write(w io.Writer, opts SummaryOptions) error {
	if opts.MaxTimers <= 0 {
		opts.MaxTimers = 20
	}
	if opts.Now.IsZero() {
		opts.Now = s.At
	}
	var out strings.Builder
	idle := "had nothing to do"
	if len(s.Unsynced) > 0 {
		idle = "did nothing"
	}
	switch {
	case len(s.Controllers) > 0:
		out.WriteString(s.table(opts.Width).Text(TableOptions{Width: opts.Width, Color: opts.Color}))
		if s.Idle > 0 {
			fmt.Fprintf(&out, "%s %s.\n", counted(s.Idle, "other controller", "other controllers"), idle)
		}
	case s.Idle > 0:
		fmt.Fprintf(&out, "%s %s.\n", counted(s.Idle, "controller", "controllers"), idle)
	case s.Led:
		out.WriteString("This process held the lease, but no controller ran, and nothing was written.\n")
	case s.Elected:
		out.WriteString("This process was not elected: no controller was started, and nothing was written.\n")
	default:
		out.WriteString("No controller was started.\n")
	}
	if len(s.Unsynced) > 0 {
		fmt.Fprintf(&out, "Informers not synced (%d); their objects are unknown:\n", len(s.Unsynced))
		for _, name := range s.Unsynced {
			out.WriteString(line{{"  " + name, yellow}}.draw(opts.Width, opts.Color) + "\n")
		}
	}
	if len(s.Timers) > 0 {
		fmt.Fprintf(&out, "\nDelayed keys (%d):\n", len(s.Timers))
		for _, t := range s.Timers[:min(len(s.Timers), opts.MaxTimers)] {
			out.WriteString(line{{"  " + t.Describe(opts.Now), plain}}.draw(opts.Width, opts.Color) + "\n")
		}
		if more := len(s.Timers) - opts.MaxTimers; more > 0 {
			fmt.Fprintf(&out, "  and %d more\n", more)
		}
	}
	for i, note := range s.Notes {
		if i == 0 {
			out.WriteString("\n")
		}
		out.WriteString(line{{note, dim}}.draw(0, opts.Color) + "\n")
	}
	for i, missing := range s.Losses {
		if i == 0 {
			out.WriteString("\n")
		}
		out.WriteString(line{{missing, yellow}}.draw(opts.Width, opts.Color) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// table removes the common suffix of the names and truncates them on narrow terminals
// to leave space for the figures.
func (s Summary) table(width int) Table {
	longest := 0
	if width > 0 && width < 120 {
		longest = 30
	}
	t := Table{Columns: []Column{
		{Title: "CONTROLLER", Max: longest},
		{Title: "SYNCS", Right: true},
		{Title: "ERRORS", Right: true},
		{Title: "RETRIES", Right: true},
		{Title: "WRITES", Right: true},
		{Title: "P50", Right: true},
		{Title: "P99", Right: true},
		{Title: "LAST ERROR", Max: 80},
	}}
	for _, c := range s.Controllers {
		p50, p99 := NoFigure, NoFigure
		if c.Syncs > 0 {
			p50, p99 = roughly(c.P50), roughly(c.P99)
		}
		t.Rows = append(t.Rows, []string{
			ShortName(c.Controller), number(c.Syncs), number(c.Errors), number(c.Retries), writes(c.Writes), p50, p99, lastError(c),
		})
	}
	return t
}

// writes is the number of writes; dry-run, refused and failed writes are listed
// separately.
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

func lastError(c ControllerSummary) string {
	text := c.LastError
	if c.LastErrorKey != "" {
		text = strings.TrimSuffix(c.LastErrorKey+": "+c.LastError, ": ")
	}
	return Resolved(text, c.LastErrorCleared)
}

// Resolved marks the text of an error that a later success cleared.
func Resolved(text string, cleared time.Time) string {
	if text == "" || cleared.IsZero() {
		return text
	}
	return "resolved: " + text
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// roughly rounds a quantile to two digits, which is its accuracy.
func roughly(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return state.Short(d.Round(unit))
}

// Timer is a delayed queue key and when it becomes ready.
type Timer struct {
	Controller string    `json:"controller"`
	Queue      string    `json:"queue"`
	Key        string    `json:"key"`
	Due        time.Time `json:"due"`
	// Retries is not zero if the delay is that of a retry.
	Retries int `json:"retries,omitempty"`
}

// Describe formats the timer: "deployment shop/web due in 10m0s (retry 3)".
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

// DueTimers lists the delayed keys, earliest first.
func DueTimers(s *state.Snapshot) []Timer {
	due := []Timer{}
	for _, k := range s.Keys.All() {
		if !k.Due.IsZero() {
			due = append(due, Timer{Controller: k.Controller, Queue: k.Queue, Key: k.Key, Due: k.Due, Retries: k.Retries})
		}
	}
	slices.SortStableFunc(due, func(a, b Timer) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key)) })
	return due
}

// Losses describes what is missing from a snapshot, one sentence each: entries that
// were dropped or lost, and rows beyond a limit. Evicted history is not a loss.
func Losses(s *state.Snapshot) []string {
	out := []string{}
	for where, n := range s.Dropped.All() {
		out = append(out, fmt.Sprintf("The journal is incomplete: %s dropped at %s.", were(n), where))
	}
	if s.Lost > 0 {
		out = append(out, fmt.Sprintf("The journal is incomplete: %s lost (gap in the sequence numbers).", were(s.Lost)))
	}
	for name, n := range s.Unknown.All() {
		out = append(out, fmt.Sprintf("The journal is incomplete: %s ignored (unknown type %s).", were(n), name))
	}
	for _, b := range s.Bounds() {
		if b.Dropped > 0 && !b.History {
			out = append(out, fmt.Sprintf("The view is incomplete: %d %s dropped (limit %d).", b.Dropped, b.Name, b.Limit))
		}
	}
	return out
}

func were(n uint64) string {
	if n == 1 {
		return "1 entry was"
	}
	return number(n) + " entries were"
}
