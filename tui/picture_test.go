package tui

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// The renderer of the screenshots is in the tests because only a test draws them:
// the program has no need of it.

// The size of a cell of a picture, in its units. Texts are stretched to their
// cells, so that columns stand below each other in any font.
const (
	cellWidth  = 8.4
	cellHeight = 18
	fontSize   = 14
	margin     = 14
)

// ground and ink are the terminal's own colours, palette its sixteen. They are
// legible on ground, and ground differs from the pages of GitHub in both themes.
const (
	ground = "#161b22"
	frame  = "#3d444d"
	ink    = "#d5dbe3"
)

var palette = [16]string{
	"#161b22", "#f47067", "#57ab5a", "#d0a045", "#1f6feb", "#c38ae0", "#4bbfd0", "#adbac7",
	"#8b949e", "#ff938a", "#6bc46d", "#daaa3f", "#6cb6ff", "#dcbdfb", "#56d4dd", "#f0f6fc",
}

// penStyle is how a terminal writes: indices of the palette, or -1 for its own
// colours.
type penStyle struct {
	fore, back    int
	bold, reverse bool
}

func (p penStyle) colours() (fore, back string) {
	fore, back = ink, ground
	if p.fore >= 0 {
		fore = palette[p.fore]
	}
	if p.back >= 0 {
		back = palette[p.back]
	}
	if p.reverse {
		fore, back = back, fore
	}
	return fore, back
}

// penRun is text in one style from a column on.
type penRun struct {
	column, width int
	text          string
	style         penStyle
}

// runsOf takes a line of the screen apart. Sequences other than the sixteen
// colours, bold and reverse are an error: no theme of this profile has them.
func runsOf(text string) ([]penRun, error) {
	plain := penStyle{-1, -1, false, false}
	pen, column := plain, 0
	var out []penRun
	var state byte
	for text != "" {
		seq, width, n, next := ansi.DecodeSequence(text, state, nil)
		text, state = text[n:], next
		if width == 0 {
			if err := pen.take(seq); err != nil {
				return nil, err
			}
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].style == pen {
			out[last].text += seq
			out[last].width += width
		} else {
			out = append(out, penRun{column, width, seq, pen})
		}
		column += width
	}
	return out, nil
}

// take obeys an SGR sequence.
func (p *penStyle) take(seq string) error {
	params, ok := strings.CutPrefix(seq, "\x1b[")
	params, end := strings.CutSuffix(params, "m")
	if !ok || !end {
		return fmt.Errorf("%q is no SGR sequence", seq)
	}
	for _, param := range strings.Split(params, ";") {
		n, err := strconv.Atoi(param)
		if param == "" {
			n, err = 0, nil
		}
		switch {
		case err != nil:
			return fmt.Errorf("%q is no SGR sequence: %w", seq, err)
		case n == 0:
			*p = penStyle{-1, -1, false, false}
		case n == 1:
			p.bold = true
		case n == 7:
			p.reverse = true
		case n >= 30 && n <= 37:
			p.fore = n - 30
		case n >= 40 && n <= 47:
			p.back = n - 40
		case n >= 90 && n <= 97:
			p.fore = n - 90 + 8
		case n >= 100 && n <= 107:
			p.back = n - 100 + 8
		default:
			return fmt.Errorf("%q has %d, which is not drawn", seq, n)
		}
	}
	return nil
}

// words cuts a run at blanks of two and more, so that what stands below each
// other does so whatever the font.
func (r penRun) words() []penRun {
	var out []penRun
	column := r.column
	for i, part := range strings.Split(r.text, "  ") {
		if i > 0 {
			column += 2
		}
		trimmed := strings.TrimLeft(part, " ")
		at := column + len(part) - len(trimmed)
		column += ansi.StringWidth(part)
		if trimmed = strings.TrimRight(trimmed, " "); trimmed != "" {
			out = append(out, penRun{at, ansi.StringWidth(trimmed), trimmed, r.style})
		}
	}
	return out
}

// picture draws a screen as SVG. The title is what a screen reader says.
func picture(screen, title string, columns, rows int) (string, error) {
	width, height := float64(columns)*cellWidth+2*margin, float64(rows)*cellHeight+2*margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img" aria-label="%[3]s">`+"\n",
		number(width), number(height), escaped(title))
	fmt.Fprintf(&out, "<title>%s</title>\n<style>text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",\"Liberation Mono\",monospace;fill:%s}.b{font-weight:700}", escaped(title), fontSize, ink)
	fmt.Fprintf(&out, ".g{fill:%s}", ground)
	for i, c := range palette {
		fmt.Fprintf(&out, ".c%d{fill:%s}", i, c)
	}
	out.WriteString("</style>\n")
	fmt.Fprintf(&out, `<rect x=".5" y=".5" width="%s" height="%s" rx="8" fill="%s" stroke="%s"/>`+"\n", number(width-1), number(height-1), ground, frame)
	for row, text := range strings.Split(screen, "\n") {
		runs, err := runsOf(text)
		if err != nil {
			return "", fmt.Errorf("line %d: %w", row+1, err)
		}
		top := margin + float64(row)*cellHeight
		for _, r := range runs {
			if _, back := r.style.colours(); back != ground {
				fmt.Fprintf(&out, `<rect x="%s" y="%s" width="%s" height="%d" fill="%s"/>`+"\n", abscissa(r.column), number(top), number(float64(r.width)*cellWidth), cellHeight, back)
			}
		}
		for _, r := range runs {
			for _, w := range r.words() {
				fmt.Fprintf(&out, `<text x="%s" y="%s"%s%s>%s</text>`+"\n", abscissa(w.column), number(top+13.5), stretched(w.width), class(w.style), escaped(w.text))
			}
		}
	}
	out.WriteString("</svg>\n")
	return out.String(), nil
}

func abscissa(n int) string { return number(margin + float64(n)*cellWidth) }

func stretched(cells int) string {
	if cells < 2 {
		return ""
	}
	return fmt.Sprintf(` textLength="%s"`, number(float64(cells)*cellWidth))
}

// class names what differs from the terminal's own ink.
func class(p penStyle) string {
	var names []string
	switch {
	case p.reverse && p.back < 0:
		names = append(names, "g")
	case p.reverse:
		names = append(names, fmt.Sprintf("c%d", p.back))
	case p.fore >= 0:
		names = append(names, fmt.Sprintf("c%d", p.fore))
	}
	if p.bold {
		names = append(names, "b")
	}
	if names == nil {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func number(f float64) string { return strconv.FormatFloat(float64(int(f*10+.5))/10, 'f', -1, 64) }

func escaped(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		return ""
	}
	return out.String()
}

// readPicture puts the texts of a picture back into cells: it is what a reader sees.
func readPicture(t *testing.T, svg string, rows int) string {
	t.Helper()
	var doc struct {
		Texts []struct {
			X    float64 `xml:"x,attr"`
			Y    float64 `xml:"y,attr"`
			Text string  `xml:",chardata"`
		} `xml:"text"`
		Scripts []struct{} `xml:"script"`
	}
	if err := xml.Unmarshal([]byte(svg), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Scripts) > 0 {
		t.Error("the picture has a script")
	}
	lines := make([]string, rows)
	for _, w := range doc.Texts {
		row, col := int((w.Y-margin)/cellHeight), int((w.X-margin)/cellWidth+.5)
		lines[row] += strings.Repeat(" ", max(col-ansi.StringWidth(lines[row]), 0)) + w.Text
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestPicture(t *testing.T) {
	theme := testTheme(t, "default", termenv.ANSI)
	lines := []string{
		widget.Line{widget.Text.Of("a<b>&\"c\"   世界  "), widget.Bad.Of("bad")}.Draw(theme, 30, false, widget.Text),
		widget.Line{widget.Dim.Of(" ├ x"), widget.Text.Of("  under")}.Draw(theme, 30, false, widget.Selected),
		widget.Line{widget.Dry.Of(" DRY-RUN "), widget.Title.Of(" title")}.Draw(theme, 30, false, widget.Text),
	}
	svg, err := picture(strings.Join(lines, "\n"), `<"names">`, 30, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := "a<b>&\"c\"   世界  bad\n ├ x  under\n DRY-RUN  title\n"
	if got := readPicture(t, svg, 3); got != want {
		t.Errorf("the picture says\n%q, want\n%q", got, want)
	}
	for _, part := range []string{
		`<title>&lt;&#34;names&#34;&gt;</title>`, `class="c1">bad<`, `class="g">under<`, `class="c0 b">DRY-RUN<`, `class="c6 b">title<`,
		`<rect x="14" y="32" width="252" height="18" fill="` + ink + `"/>`, `<rect x="14" y="50" width="75.6" height="18" fill="` + palette[3] + `"/>`,
	} {
		if !strings.Contains(svg, part) {
			t.Errorf("the picture lacks %s:\n%s", part, svg)
		}
	}
	for _, bad := range []string{"\x1b[38;5;9mx", "\x1b[2Jx", "\x1b]0;x\x07x", "x\ty"} {
		if _, err := picture(bad, "", 30, 1); err == nil {
			t.Errorf("%q was drawn", bad)
		}
	}
}
