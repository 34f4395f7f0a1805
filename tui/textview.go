package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// textView is a text over the page: YAML, a diff, the help. It scrolls and is
// searched.
type textView struct {
	title string
	// lines are made for a width, anew when it changes.
	lines func(w int) []line
	// copy is what "c" copies; empty where it is the lines' text.
	copy string
	// refresh makes it anew while it is open, about every second; nil where it
	// stays as it is.
	refresh func(e *env) *textView
	// extra are keys of its own.
	extra func(e *env) []action
	// isOutput: it is what the command prints, and grows.
	isOutput bool
	// isHelp: it lists keys itself.
	isHelp bool
	// under is the text that it was opened over.
	under *textView

	made   []line // as lines gave them
	drawn  []line // made, with long ones folded
	of     []int  // the one of made that each of drawn is of
	width  int
	top    int
	height int
	search string
}

// textOf makes a view of a text whose lines are its author's, such as YAML.
func textOf(title, text string) textView {
	var all []line
	for _, s := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		all = append(all, line{styleText.of(s)})
	}
	return textView{title: title, lines: func(int) []line { return all }, copy: text}
}

// proseOf makes a view of paragraphs.
func proseOf(title string, paragraphs ...string) textView {
	return textView{title: title, lines: func(w int) []line {
		var out []line
		for i, p := range paragraphs {
			if i > 0 {
				out = append(out, line{})
			}
			out = append(out, wrapped(p, min(w-2, 100), styleText)...)
		}
		return indent(out, 1)
	}}
}

func indent(lines []line, by int) []line {
	for i, l := range lines {
		lines[i] = append(line{styleText.of(strings.Repeat(" ", by))}, l...)
	}
	return lines
}

func (v *textView) layout(w int) {
	if v.drawn == nil || v.width != w {
		v.made, v.width = v.lines(w), w
		v.drawn, v.of = folded(v.made, w)
	}
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

// replace takes the content of another view and keeps the place.
func (v *textView) replace(by *textView) {
	v.title, v.lines, v.copy, v.drawn = by.title, by.lines, by.copy, nil
}

func (v *textView) scroll(by int) { v.top = max(min(v.top+by, len(v.drawn)-v.height), 0) }

// key scrolls; false where the key is none of a text's.
func (v *textView) key(key string) bool {
	page := max(v.height-1, 1)
	switch key {
	case "up", "k":
		v.scroll(-1)
	case "down", "j":
		v.scroll(1)
	case "pgup", "ctrl+b":
		v.scroll(-page)
	case "pgdown", "ctrl+f", " ":
		v.scroll(page)
	case "ctrl+u":
		v.scroll(-max(page/2, 1))
	case "ctrl+d":
		v.scroll(max(page/2, 1))
	case "home", "g":
		v.top = 0
	case "end", "G":
		v.scroll(len(v.drawn))
	case "n":
		v.find(v.top+1, 1)
	case "N":
		v.find(v.top-1, -1)
	default:
		return false
	}
	return true
}

// find scrolls to the next line with the text searched for, from a line on.
func (v *textView) find(from, step int) bool {
	if v.search == "" {
		return false
	}
	for i := from; i >= 0 && i < len(v.drawn); i += step {
		if first := i == 0 || v.of[i] != v.of[i-1]; first && v.found(i) {
			v.top = i
			v.scroll(0)
			return true
		}
	}
	return false
}

// found reports whether a line, be it folded, has what was searched for.
func (v *textView) found(i int) bool {
	return strings.Contains(strings.ToLower(v.made[v.of[i]].text()), strings.ToLower(v.search))
}

// view draws exactly h lines of w cells.
func (v *textView) view(t *Theme, w, h int) []string {
	v.layout(w)
	v.height = h
	v.scroll(0)
	end := min(v.top+h, len(v.drawn))
	window := v.drawn[v.top:end]
	if v.search == "" {
		return fit(t, window, w, h)
	}
	out := make([]line, len(window))
	for i, l := range window {
		out[i] = l
		if v.found(v.top + i) {
			out[i] = line{styleAccent.of(l.text())}
		}
	}
	return fit(t, out, w, h)
}

// place says how far down the view is.
func (v *textView) place() string {
	if len(v.drawn) <= v.height {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d", v.top+1, min(v.top+v.height, len(v.drawn)), len(v.drawn))
}

// text is what is copied.
func (v *textView) text() string {
	if v.copy != "" {
		return render.SanitiseKeeping(v.copy, render.KeepLines)
	}
	var out strings.Builder
	for _, l := range v.made {
		out.WriteString(strings.TrimRight(l.text(), " ") + "\n")
	}
	return out.String()
}

// actions are the keys while a text is open.
func (v *textView) actions(m *model) []action {
	var own []action
	if v.extra != nil {
		own = v.extra(m.env)
	}
	return append(own, []action{
		{keys: []string{"esc", "q"}, label: "close", help: "Close the text.", do: func() tea.Cmd { m.text = v.under; return nil }},
		{keys: []string{"/"}, label: "search", help: "Search in the text; n and N go on.", do: func() tea.Cmd {
			return send(promptMsg{label: "search: ", value: v.search, done: func(s string) tea.Cmd {
				v.search = s
				if s != "" && !v.find(v.top, 1) && !v.find(0, 1) {
					return complain(fmt.Sprintf("%q is not in this text", s))
				}
				return nil
			}})
		}},
		{keys: []string{"c"}, label: "copy", help: "Copy the text.", off: m.env.without(m.env.Copy != nil), do: func() tea.Cmd { return m.copy(v.text(), "the text") }},
	}...)
}
