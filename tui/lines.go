package tui

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

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

// wrappedFact is a fact whose value may be long.
func wrappedFact(name, value string, w int, style styleName) []line {
	parts := wrap(value, max(w-14, 20))
	if value == "" || len(parts) == 0 {
		return nil
	}
	out := fact(name, parts[0], style)
	for _, more := range parts[1:] {
		out = append(out, line{styleText.of(strings.Repeat(" ", 13)), style.of(more)})
	}
	return out
}

// spread puts spans at the right end as far as they fit beside the left ones.
func spread(t *Theme, left line, right []span, w int) string {
	room := w - render.Width(left.text())
	var tail line
	for i := len(right) - 1; i >= 0; i-- {
		s := right[i].style.of("  " + right[i].text)
		if width := render.Width(render.Sanitise(s.text)); width <= room {
			room -= width
			tail = append(line{s}, tail...)
		}
	}
	return append(append(left, styleText.of(strings.Repeat(" ", max(room, 0)))), tail...).draw(t, w, false, styleText)
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

func indent(lines []line, by int) []line {
	for i, l := range lines {
		lines[i] = append(line{styleText.of(strings.Repeat(" ", by))}, l...)
	}
	return lines
}

// folded breaks lines that are wider than the screen, so that all of them can be
// read, and says which line each is of.
func folded(lines []line, w int) (out []line, of []int) {
	for i, l := range lines {
		parts := []line{l}
		if text := l.text(); render.Width(text) > w && w >= minFold {
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
func fold(l line, by, w int) []line {
	var out []line
	var current line
	room := w
	for _, s := range l {
		for rest := render.Sanitise(s.text); rest != ""; {
			head := hardCut(rest, room)
			if space := strings.LastIndex(head, " "); len(head) < len(rest) && rest[len(head)] != ' ' && space > len(head)/2 {
				head = head[:space]
			}
			if used := render.Width(head); used <= room {
				current, rest, room = append(current, s.style.of(head)), rest[len(head):], room-used
			}
			if rest != "" {
				out, current, room = append(out, current), line{styleText.of(strings.Repeat(" ", by))}, w-by
				rest = strings.TrimLeft(rest, " ")
			}
		}
	}
	return append(out, current)
}
