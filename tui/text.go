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

// line is a cell that fills a line of the screen.
type line = cell

// fit makes exactly h lines of w cells: short lines are filled, more are left
// out.
func fit(t *Theme, lines []line, w, h int) []string {
	out := make([]string, h)
	for i := range out {
		if i < len(lines) {
			out[i] = lines[i].draw(t, w, false, styleText)
		} else {
			out[i] = strings.Repeat(" ", max(w, 0))
		}
	}
	return out
}

// wrap breaks text at spaces into lines of at most width cells; a word that is
// longer is cut into pieces.
func wrap(text string, width int) []string {
	if width < 1 {
		return nil
	}
	var out []string
	for _, paragraph := range strings.Split(render.SanitiseKeeping(text, render.KeepLines), "\n") {
		current := ""
		for _, w := range strings.Fields(paragraph) {
			for render.Width(w) > width {
				head := hardCut(w, width)
				if current != "" {
					out, current = append(out, current), ""
				}
				out, w = append(out, head), w[len(head):]
			}
			switch {
			case current == "":
				current = w
			case render.Width(current)+1+render.Width(w) <= width:
				current += " " + w
			default:
				out, current = append(out, current), w
			}
		}
		out = append(out, current)
	}
	return out
}

// hardCut gives the longest beginning of s, of whole runes, that fits in width
// cells, and at least one rune.
func hardCut(s string, width int) string {
	for i := range s {
		if i > 0 && render.Width(s[:i]) > width {
			return s[:last(s, i)]
		}
	}
	if render.Width(s) > width {
		return s[:last(s, len(s))]
	}
	return s
}

// last is where the rune before i begins, but never zero.
func last(s string, i int) int {
	at := 0
	for j := range s[:i] {
		at = j
	}
	if at == 0 {
		return i
	}
	return at
}

// wrapped makes lines of one style of a text.
func wrapped(text string, width int, style styleName) []line {
	parts := wrap(text, width)
	out := make([]line, len(parts))
	for i, p := range parts {
		out[i] = line{style.of(p)}
	}
	return out
}
