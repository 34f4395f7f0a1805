package tui

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// base is what most pages have in common: a filter, and nothing to go back from.
type base struct {
	filter widget.Filter
}

func (b *base) filtering() *filtering {
	return &filtering{current: b.filter, set: func(f widget.Filter) { b.filter = f }}
}

func (b *base) back() bool { return false }

// plainRows are a list's rows as lines: the titles in small letters before the
// values, so that a line makes sense by itself. What changes with the time alone is
// left out.
func plainRows(l *widget.List, r widget.Rows) []plainRow {
	out := make([]plainRow, r.Len())
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
		out[i] = plainRow{id: r.ID(i), text: text.String()}
	}
	return out
}

// stale guards a page's questions: only the answer to the latest counts.
type stale struct{ round int }

func (s *stale) next() int         { s.round++; return s.round }
func (s *stale) is(round int) bool { return round == s.round }
