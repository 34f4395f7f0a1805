package render

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// style is an SGR parameter; the empty one is plain.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// span is a piece of a line in one style.
type span struct {
	text  string
	style style
}

// line is a line before it is drawn. Its text is sanitised first, then truncated to a
// width, then coloured: text from a cluster cannot start or end a colour.
type line []span

// draw returns the line in at most width cells, or all of it if width is zero.
func (l line) draw(width int, color bool) string {
	texts, total := make([]string, len(l)), 0
	for i, s := range l {
		texts[i] = Sanitise(state.OneLine(s.text))
		if i == len(l)-1 {
			texts[i] = strings.TrimRight(texts[i], " ")
		}
		total += Width(texts[i])
	}
	var out strings.Builder
	if width <= 0 || total <= width {
		for i, s := range l {
			out.WriteString(paint(texts[i], s.style, color))
		}
		return out.String()
	}
	left := width - 1
	for i, s := range l {
		if cells := Width(texts[i]); cells <= left {
			left -= cells
			out.WriteString(paint(texts[i], s.style, color))
			continue
		}
		out.WriteString(paint(ansi.Truncate(texts[i], left, "")+"…", s.style, color))
		break
	}
	return out.String()
}

func paint(text string, s style, color bool) string {
	if !color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
