package render

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// fields prints the changed fields of each object: the user's own first, then the API
// server's defaults, then the changes by controllers.
func (t *planText) fields(diffs []document.PlanFieldDiff) {
	if len(diffs) == 0 {
		return
	}
	t.heading("Fields")
	var object document.PlanObject
	for i, d := range diffs {
		if i == 0 || d.PlanObject != object {
			t.print(1, line{{objectTitle(d), plain}})
		}
		object = d.PlanObject
		switch {
		case d.By == document.PlanByServer:
			t.print(2, line{{"and " + counted(len(d.Changes), "default", "defaults") + " set by the API server", dim}})
			continue
		case d.By == document.PlanByControllers:
			t.print(2, line{{"by controllers:", dim}})
		}
		for _, change := range d.Changes {
			t.field(change)
		}
	}
}

func objectTitle(d document.PlanFieldDiff) string {
	name := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
	if d.Count > 1 {
		return counted(d.Count, d.Kind, many(d.Kind)) + " " + name
	}
	return d.Kind + " " + name
}

// field prints one change; a change of a multi-line text as a line diff.
func (t *planText) field(c state.FieldChange) {
	old, oldText := linesOf(c.Old)
	new, newText := linesOf(c.New)
	if len(c.Old) > largeValue || len(c.New) > largeValue {
		c.Path = t.large(c, old, new)
	}
	if oldText && newText && max(longestLine(old), longestLine(new)) <= longLine && (strings.Contains(old, "\n") || strings.Contains(new, "\n")) {
		t.print(2, line{{"~ " + c.Path + ":", plain}})
		t.lines(old, new)
		return
	}
	c.Old, c.New = excerpts(c.Old, c.New)
	l := change(c)
	// change indents for the journal.
	l[0].text = strings.TrimPrefix(l[0].text, diffIndent)
	t.print(2, l)
}

const (
	// largeValue is the size in bytes from which the length and hash of a value are
	// printed, and only the parts that differ.
	largeValue = 8 << 10
	// longLine is the longest line that a line diff prints.
	longLine = 1 << 10
)

// large prints the lengths and hashes of a value that is not printed as a whole, and
// returns the heading for the rest.
func (t *planText) large(c state.FieldChange, old, new string) string {
	if c.Old == "" || c.New == "" {
		return c.Path + " (" + sizeAndHash(c.Old+c.New, old+new) + ")"
	}
	t.print(2, line{{"~ " + c.Path + ": " + sizeAndHash(c.Old, old) + " → " + sizeAndHash(c.New, new), plain}})
	return c.Path
}

// sizeAndHash is "70001 bytes, sha256:0123456789ab": of a string itself, and of the
// JSON of any other value.
func sizeAndHash(value, text string) string {
	if text != "" {
		value = text
	}
	sum := sha256.Sum256([]byte(value))
	return fmt.Sprintf("%d bytes, sha256:%x", len(value), sum[:6])
}

func longestLine(text string) int {
	longest := 0
	for l := range strings.Lines(text) {
		longest = max(longest, len(l))
	}
	return longest
}

// linesOf decodes a JSON string.
func linesOf(value string) (string, bool) {
	var text string
	if err := json.Unmarshal([]byte(value), &text); err != nil {
		return "", false
	}
	return text, true
}

// maxDiffLines bounds a line diff in a plan.
const maxDiffLines = 40

func (t *planText) lines(old, new string) {
	old, new = strings.TrimSuffix(old, "\n")+"\n", strings.TrimSuffix(new, "\n")+"\n"
	if old == new {
		t.print(3, line{{"the trailing newline", dim}})
		return
	}
	unified, err := udiff.ToUnified("", "", old, udiff.Lines(old, new), 1)
	if err != nil {
		t.print(3, line{{err.Error(), dim}})
		return
	}
	printed := 0
	for text := range strings.Lines(unified) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "---") || strings.HasPrefix(text, "+++") || text == "" {
			if printed == 0 {
				continue
			}
		}
		if printed++; printed > maxDiffLines {
			t.print(3, line{{"… more lines differ; -o json or -o yaml shows all of them", dim}})
			return
		}
		s := plain
		switch text[0] {
		case '+':
			s = green
		case '-':
			s = red
		default:
			s = dim
		}
		t.print(3, line{{text, s}})
	}
}

const (
	// maxExcerpt is the longest value printed, in characters.
	maxExcerpt = 120
	// leadIn is how much of the common text precedes a difference.
	leadIn = 30
)

// excerpts cuts two values to where they start to differ.
func excerpts(old, new string) (string, string) {
	if utf8.RuneCountInString(old) <= maxExcerpt && utf8.RuneCountInString(new) <= maxExcerpt {
		return old, new
	}
	a, b := []rune(old), []rune(new)
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	from = max(0, from-leadIn)
	if len(a) == 0 || len(b) == 0 {
		from = 0
	}
	return excerpt(a, from), excerpt(b, from)
}

func excerpt(text []rune, from int) string {
	if len(text) == 0 {
		return ""
	}
	from = min(from, len(text)-1)
	to := min(len(text), from+maxExcerpt)
	out := string(text[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}
