package widget

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// TextView is a text over the page: YAML, a diff, the help. It scrolls and is
// searched.
type TextView struct {
	Title string
	// Lines are made for a width, anew when it changes.
	Lines func(w int) []Line
	// Copy is what "c" copies; empty where it is the lines' text.
	Copy string

	made   []Line // as lines gave them
	drawn  []Line // made, with long ones folded
	of     []int  // the one of made that each of drawn is of
	width  int
	top    int
	height int
	search string
}

// TextOf makes a view of a text whose lines are its author's, such as YAML.
func TextOf(title, text string) TextView {
	var all []Line
	for _, s := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		all = append(all, Line{Text.Of(s)})
	}
	return TextView{Title: title, Lines: func(int) []Line { return all }, Copy: text}
}

// ProseOf makes a view of paragraphs.
func ProseOf(title string, paragraphs ...string) TextView {
	return TextView{Title: title, Lines: func(w int) []Line {
		var out []Line
		for i, p := range paragraphs {
			if i > 0 {
				out = append(out, Line{})
			}
			out = append(out, Wrapped(p, min(w-2, 100), Text)...)
		}
		return Indent(out, 1)
	}}
}

func (v *TextView) layout(w int) {
	if v.drawn == nil || v.width != w {
		v.made, v.width = v.Lines(w), w
		v.drawn, v.of = folded(v.made, w)
	}
}

// Replace takes the content of another view and keeps the place.
func (v *TextView) Replace(by *TextView) {
	v.Title, v.Lines, v.Copy, v.drawn = by.Title, by.Lines, by.Copy, nil
}

func (v *TextView) scroll(by int) { v.top = max(min(v.top+by, len(v.drawn)-v.height), 0) }

// Key scrolls; false where the key is none of a text's.
func (v *TextView) Key(key string) bool {
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

// Searched is the text that was searched for last.
func (v *TextView) Searched() string { return v.search }

// SearchFor scrolls to the next line with a text, from the beginning again where
// there is none below; false where there is none at all.
func (v *TextView) SearchFor(text string) bool {
	v.search = text
	return text == "" || v.find(v.top, 1) || v.find(0, 1)
}

// AtEnd reports whether the last line is shown.
func (v *TextView) AtEnd() bool { return v.top+v.height >= len(v.drawn) }

// ToEnd scrolls to the last screenful, as soon as that is known.
func (v *TextView) ToEnd() { v.top = theEnd }

// theEnd is below every line, folded or not.
const theEnd = 1 << 30

// find scrolls to the next line with the text searched for, from a line on.
func (v *TextView) find(from, step int) bool {
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
func (v *TextView) found(i int) bool {
	return strings.Contains(strings.ToLower(v.made[v.of[i]].Text()), strings.ToLower(v.search))
}

// View draws exactly h lines of w cells.
func (v *TextView) View(t *Theme, w, h int) []string {
	v.layout(w)
	v.height = h
	v.scroll(0)
	end := min(v.top+h, len(v.drawn))
	window := v.drawn[v.top:end]
	if v.search == "" {
		return Fit(t, window, w, h)
	}
	out := make([]Line, len(window))
	for i, l := range window {
		out[i] = l
		if v.found(v.top + i) {
			out[i] = Line{Accent.Of(l.Text())}
		}
	}
	return Fit(t, out, w, h)
}

// Place says how far down the view is.
func (v *TextView) Place() string {
	if len(v.drawn) <= v.height {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d", v.top+1, min(v.top+v.height, len(v.drawn)), len(v.drawn))
}

// Text is what is copied.
func (v *TextView) Text() string {
	if v.Copy != "" {
		return render.SanitiseKeeping(v.Copy, render.KeepLines)
	}
	var out strings.Builder
	for _, l := range v.made {
		out.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return out.String()
}
