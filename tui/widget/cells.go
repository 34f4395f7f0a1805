package widget

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Span is text in one style. Text may be of a cluster: it is sanitised when it is
// drawn, and nowhere else.
type Span struct {
	Text  string
	Style Style
}

// Of makes a span in a style.
func (s Style) Of(text string) Span { return Span{text, s} }

// Cell is what stands in one column of a row.
type Cell []Span

// Word makes a cell of one span.
func Word(text string, style Style) Cell { return Cell{style.Of(text)} }

// Plain makes a cell without a style.
func Plain(text string) Cell { return Cell{Text.Of(text)} }

// Text is the cell without its styles, sanitised.
func (c Cell) Text() string {
	if len(c) == 1 {
		return render.Sanitise(c[0].Text)
	}
	var out strings.Builder
	for _, s := range c {
		out.WriteString(render.Sanitise(s.Text))
	}
	return out.String()
}

// bothEnds cuts a cell of one span in its middle: first in the beginning of so many
// bytes that it shares with those around it.
func (c Cell) bothEnds(width, shared int) Cell {
	if len(c) != 1 {
		return c
	}
	text := render.Sanitise(c[0].Text)
	if excess := render.Width(text) - width; excess > 0 && shared > 1 && shared < len(text) {
		// The shared beginning gives way by one cell more than is too much, for the sign.
		head := render.Truncate(text[:shared], max(render.Width(text[:shared])-excess, 1))
		text = head + text[shared:]
	}
	return Cell{c[0].Style.Of(render.CutMiddle(text, width))}
}

// Draw gives the cell in exactly width cells of a terminal. Over replaces the
// styles of all spans, for the row under the cursor.
func (c Cell) Draw(t *Theme, width int, right bool, over Style) string {
	if width <= 0 {
		return ""
	}
	used := 0
	var out strings.Builder
	if right {
		if missing := width - render.Width(c.Text()); missing > 0 {
			out.WriteString(t.paint(strings.Repeat(" ", missing), over))
			used = missing
		}
	}
	for i, s := range c {
		clean := render.Sanitise(s.Text)
		if i+1 < len(c) || render.Width(clean) > width-used {
			clean = render.Truncate(clean, width-used)
		}
		used += render.Width(clean)
		out.WriteString(t.paint(clean, pick(over, s.Style)))
		if used >= width {
			break
		}
	}
	if used < width {
		out.WriteString(t.paint(strings.Repeat(" ", width-used), over))
	}
	return out.String()
}

func pick(over, own Style) Style {
	switch {
	case over == Selected && own == Warn:
		return SelectedWarn
	case over == Selected && own == Bad:
		return SelectedBad
	case over != Text:
		return over
	}
	return own
}
