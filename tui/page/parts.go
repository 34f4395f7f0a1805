package page

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// Base is what most pages have in common: a filter, and nothing to go back from.
type Base struct {
	Filter widget.Filter
	// came: another page jumped here, and filter is the one that it set.
	came   bool
	filter string
}

// Arrive notes that a jump has cut the page down, unless the page was shown already.
func (b *Base) Arrive(shown bool) { b.came, b.filter = !shown, b.Filter.Text }

// Stay: the page has been left in another way than by esc.
func (b *Base) Stay() { b.came = false }

// Leave says for Back what esc does to a page that was jumped to: it leaves for the
// page before, and undoes what the jump did; or, where the user has typed a filter
// since, only takes that away, which the root does.
func (b *Base) Leave() (leaves, undo bool) {
	if !b.came {
		return false, false
	}
	if b.Filter.Text != b.filter {
		return true, false
	}
	b.came, b.Filter = false, widget.Filter{}
	return true, true
}

func (b *Base) Filtering() *Filtering {
	return &Filtering{Current: b.Filter, Set: func(f widget.Filter) { b.Filter = f }}
}

func (b *Base) Back() bool { return false }

// NoMatch stands in the place of rows that a filter hides.
func NoMatch(things string, f widget.Filter) string {
	return fmt.Sprintf("No %s match %q (esc clears)", things, f.Text)
}

// PlainRows are a list's rows as lines: the titles in small letters before the
// values, so that a line makes sense by itself. What changes with the time alone is
// left out.
func PlainRows(l *widget.List, r widget.Rows) []Row {
	out := make([]Row, r.Len())
	for i := range out {
		var text strings.Builder
		for j, c := range r.Cells(i) {
			value := strings.TrimSpace(c.Text())
			if value == "" || j >= len(l.Columns) || l.Columns[j].Aging {
				continue
			}
			if text.Len() > 0 {
				text.WriteString(", " + strings.ToLower(l.Columns[j].Title) + " ")
			}
			text.WriteString(value)
		}
		out[i] = Row{ID: r.ID(i), Text: text.String()}
	}
	return out
}

// Stale guards a page's questions: only the answer to the latest counts.
type Stale struct{ round int }

func (s *Stale) Next() int         { s.round++; return s.round }
func (s *Stale) Is(round int) bool { return round == s.round }
