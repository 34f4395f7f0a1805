package page

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// Base is what most pages have in common: a filter, and nothing to go back from.
type Base struct {
	Filter widget.Filter
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
