package tui

import (
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
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

// wide is the width from which on a detail stands beside its list.
const wide = 140

// beside draws a list, and on a wide screen the detail of its row to the right.
func beside(t *Theme, w, h int, list func(w, h int) []string, detail func(w int) []line) []string {
	if w < wide {
		return list(w, h)
	}
	left := w * 3 / 5
	rows := list(left, h)
	right := fit(t, detail(w-left-3), w-left-3, h)
	for i := range rows {
		rows[i] += t.paint(" │ ", styleDim) + right[i]
	}
	return rows
}

func heading(text string) line { return line{styleTitle.of(" " + text)} }

// fact is a name and a value on a line; nothing without a value.
func fact(name, value string, style styleName) []line {
	if value == "" {
		return nil
	}
	return []line{{styleDim.of(" " + name + strings.Repeat(" ", max(12-len(name), 1))), style.of(value)}}
}

func warnIf(yes bool) styleName { return styleIf(yes, styleWarn) }
func badIf(yes bool) styleName  { return styleIf(yes, styleBad) }

func styleIf(yes bool, s styleName) styleName {
	if yes {
		return s
	}
	return styleText
}

// durationOf is a duration for a column; nothing for zero.
func durationOf(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return state.Short(d)
}

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
