package tui

import (
	"fmt"
	"strings"

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

func (v *textView) layout(w int) {
	if v.drawn == nil || v.width != w {
		v.made, v.width = v.lines(w), w
		v.drawn, v.of = folded(v.made, w)
	}
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
