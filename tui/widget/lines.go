package widget

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Wide is the width from which on a detail stands beside its list.
const Wide = 140

// Beside draws a list, and on a wide screen the detail of its row to the right.
func Beside(t *Theme, w, h int, list func(w, h int) []string, detail func(w int) []Line) []string {
	if w < Wide {
		return list(w, h)
	}
	left := w * 3 / 5
	rows := list(left, h)
	right := Fit(t, detail(w-left-3), w-left-3, h)
	for i := range rows {
		rows[i] += t.paint(" │ ", Dim) + right[i]
	}
	return rows
}

// Heading is a title above other lines.
func Heading(text string) Line { return Line{Title.Of(" " + text)} }

// Fact is a name and a value on a line; nothing without a value.
func Fact(name, value string, style Style) []Line {
	if value == "" {
		return nil
	}
	return []Line{{Dim.Of(" " + name + strings.Repeat(" ", max(12-len(name), 1))), style.Of(value)}}
}

// WrappedFact is a fact whose value may be long.
func WrappedFact(name, value string, w int, style Style) []Line {
	parts := Wrap(value, max(w-14, 20))
	if value == "" || len(parts) == 0 {
		return nil
	}
	out := Fact(name, parts[0], style)
	for _, more := range parts[1:] {
		out = append(out, Line{Text.Of(strings.Repeat(" ", 13)), style.Of(more)})
	}
	return out
}

// Spread puts spans at the right end as far as they fit beside the left ones.
func Spread(t *Theme, left Line, right []Span, w int) string {
	room := w - render.Width(left.Text())
	var tail Line
	for i := len(right) - 1; i >= 0; i-- {
		s := right[i].Style.Of("  " + right[i].Text)
		if width := render.Width(render.Sanitise(s.Text)); width <= room {
			room -= width
			tail = append(Line{s}, tail...)
		}
	}
	return append(append(left, Text.Of(strings.Repeat(" ", max(room, 0)))), tail...).Draw(t, w, false, Text)
}

// Line is a cell that fills a line of the screen.
type Line = Cell

// Ends puts spans at the right end, and the left ones before them as far as they fit.
func Ends(t *Theme, left Line, right []Span, w int) string {
	var tail Line
	for _, s := range right {
		if s.Text != "" {
			tail = append(tail, s.Style.Of("  "+s.Text))
		}
	}
	room := min(render.Width(tail.Text()), w)
	return left.Draw(t, w-room, false, Text) + tail.Draw(t, room, false, Text)
}

// Fit makes exactly h lines of w cells: short lines are filled, more are left
// out.
func Fit(t *Theme, lines []Line, w, h int) []string {
	out := make([]string, h)
	for i := range out {
		if i < len(lines) {
			out[i] = lines[i].Draw(t, w, false, Text)
		} else {
			out[i] = strings.Repeat(" ", max(w, 0))
		}
	}
	return out
}

// Wrap breaks text at spaces into lines of at most width cells; a word that is
// longer is cut into pieces.
func Wrap(text string, width int) []string {
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

// Wrapped makes lines of one style of a text.
func Wrapped(text string, width int, style Style) []Line {
	parts := Wrap(text, width)
	out := make([]Line, len(parts))
	for i, p := range parts {
		out[i] = Line{style.Of(p)}
	}
	return out
}

// Indent puts blanks before each line, in place.
func Indent(lines []Line, by int) []Line {
	for i, l := range lines {
		lines[i] = append(Line{Text.Of(strings.Repeat(" ", by))}, l...)
	}
	return lines
}

// folded breaks lines that are wider than the screen, so that all of them can be
// read, and says which line each is of.
func folded(lines []Line, w int) (out []Line, of []int) {
	for i, l := range lines {
		parts := []Line{l}
		if text := l.Text(); render.Width(text) > w && w >= minFold {
			in := len(text) - len(strings.TrimLeft(text, " "))
			parts = fold(l, min(in+4, w/2), w)
		}
		for _, part := range parts {
			out, of = append(out, part), append(of, i)
		}
	}
	return out, of
}

// minFold is the narrowest that lines are folded for: below, nothing is drawn.
const minFold = 8

// fold breaks a line into those of at most w cells, at a space where one is near,
// and indents all but the first.
func fold(l Line, by, w int) []Line {
	var out []Line
	var current Line
	room := w
	for _, s := range l {
		for rest := render.Sanitise(s.Text); rest != ""; {
			head := hardCut(rest, room)
			if space := strings.LastIndex(head, " "); len(head) < len(rest) && rest[len(head)] != ' ' && space > len(head)/2 {
				head = head[:space]
			}
			if used := render.Width(head); used <= room {
				current, rest, room = append(current, s.Style.Of(head)), rest[len(head):], room-used
			}
			if rest != "" {
				out, current, room = append(out, current), Line{Text.Of(strings.Repeat(" ", by))}, w-by
				rest = strings.TrimLeft(rest, " ")
			}
		}
	}
	return append(out, current)
}
