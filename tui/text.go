package tui

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// span is text in one style. Text may be of a cluster: it is sanitised when it is
// drawn, and nowhere else.
type span struct {
	text  string
	style styleName
}

// of makes a span in a style.
func (s styleName) of(text string) span { return span{text, s} }

// cell is what stands in one column of a row.
type cell []span

// word makes a cell of one span.
func word(text string, style styleName) cell { return cell{style.of(text)} }

// plainCell makes a cell without a style.
func plainCell(text string) cell { return cell{styleText.of(text)} }

// text is the cell without its styles, sanitised.
func (c cell) text() string {
	if len(c) == 1 {
		return render.Sanitise(c[0].text)
	}
	var out strings.Builder
	for _, s := range c {
		out.WriteString(render.Sanitise(s.text))
	}
	return out.String()
}

// bothEnds cuts a cell of one span in its middle.
func (c cell) bothEnds(width int) cell {
	if len(c) != 1 {
		return c
	}
	return cell{c[0].style.of(render.CutMiddle(render.Sanitise(c[0].text), width))}
}

// draw gives the cell in exactly width cells of a terminal. Over replaces the
// styles of all spans, for the row under the cursor.
func (c cell) draw(t *Theme, width int, right bool, over styleName) string {
	if width <= 0 {
		return ""
	}
	used := 0
	var out strings.Builder
	if right {
		if missing := width - render.Width(c.text()); missing > 0 {
			out.WriteString(t.paint(strings.Repeat(" ", missing), over))
			used = missing
		}
	}
	for i, s := range c {
		clean := render.Sanitise(s.text)
		if i+1 < len(c) || render.Width(clean) > width-used {
			clean = render.Truncate(clean, width-used)
		}
		used += render.Width(clean)
		out.WriteString(t.paint(clean, pick(over, s.style)))
		if used >= width {
			break
		}
	}
	if used < width {
		out.WriteString(t.paint(strings.Repeat(" ", width-used), over))
	}
	return out.String()
}

func pick(over, own styleName) styleName {
	if over != styleText {
		return over
	}
	return own
}
