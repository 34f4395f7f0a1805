package widget

import (
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

func TestLongLinesOfATextAreFolded(t *testing.T) {
	long := `  {"msg":"a line of a log","error":"` + strings.Repeat("ä日", 40) + `","at":"its end"}`
	for _, text := range []string{long, "short\n" + long + "\nlast", strings.Repeat("x", 200), strings.Repeat("word ", 50), "", "  key: " + strings.Repeat(" ", 100) + "value"} {
		for _, w := range []int{10, 60, 80, 200} {
			v := TextOf("title", text)
			v.layout(w)
			var all string
			for _, l := range v.drawn {
				if got := render.Width(l.Text()); got > w {
					t.Errorf("width %d: a line of %d cells: %q", w, got, l.Text())
				}
				all += l.Text()
			}
			bare := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
			if bare(all) != bare(text) {
				t.Errorf("width %d: want all of %q, got %q", w, text, all)
			}
		}
	}
}

func TestFoldedTextIsFoundAndCopiedWhole(t *testing.T) {
	v := ProseOf("title")
	long := "begin " + strings.Repeat("0123456789 ", 20) + "end"
	v.Lines = func(int) []Line { return []Line{{Text.Of("first")}, {Text.Of(long)}, {Text.Of("last")}} }
	v.height = 1
	v.layout(60)
	v.search = "789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 end"
	if !v.find(0, 1) || v.top != 1 {
		t.Errorf("what goes over a fold is not found at the beginning of its line, but at %d", v.top)
	}
	if want := "first\n" + long + "\nlast\n"; v.Text() != want {
		t.Errorf("want %q copied, got %q", want, v.Text())
	}
}
