package tui

import (
	"strings"
)

// base is what most pages have in common: a filter, and nothing to go back from.
type base struct {
	filter filter
}

func (b *base) filtering() *filtering {
	return &filtering{current: b.filter, set: func(f filter) { b.filter = f }}
}

func (b *base) back() bool { return false }

// openMsg opens a text that is made anew every second.
type openMsg struct{ view func(*env) *textView }

// plainRows are a list's rows as lines: the titles in small letters before the
// values, so that a line makes sense by itself. What changes with the time alone is
// left out.
func plainRows(l *list, r rows) []plainRow {
	out := make([]plainRow, r.Len())
	for i := range out {
		var text strings.Builder
		for j, c := range r.Cells(i) {
			value := strings.TrimSpace(c.text())
			if value == "" || j >= len(l.columns) || l.columns[j].aging {
				continue
			}
			if text.Len() > 0 {
				text.WriteString(", " + strings.ToLower(l.columns[j].title) + " ")
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
