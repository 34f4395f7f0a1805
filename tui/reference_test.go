package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// TestReference writes the parts of docs/tui.md that are of the tables by which the
// screen moves: the pages with their keys, the keys everywhere, the commands. They
// stand between marks; the rest of the page is prose.
func TestReference(t *testing.T) {
	file := filepath.Join("..", "docs", "tui.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, part := range referenceParts(t) {
		begin, end := "<!-- "+name+": written by go test ./tui -run TestReference -update -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no marks around %s:\n%s%s", file, name, begin, end)
		}
		want = before + begin + part + end + after
	}
	written(t, file, want)
}

// referenceParts are the generated parts, by the name in their marks.
func referenceParts(t *testing.T) map[string]string {
	s := referenceScreen(t, nil)
	parts := map[string]string{"pages": pagesReference(t, s)}
	parts["keys"] = keyTable(s.model.actions())
	parts["cursor"] = cursorTable(cursorKeys())

	s.press("?")
	parts["texts"] = keyTable(s.model.text.actions(s.model)) + strings.TrimPrefix(cursorTable(textKeys()), tableHead)
	s.press("esc")

	s.press("A")
	parts["approvals"] = keyTable(s.approvals.actions(s.model))
	s.press("esc")

	replay := referenceScreen(t, &stillPlayer{})
	parts["replay"] = keyTable(replay.playing())

	var out strings.Builder
	out.WriteString("| after `:` | what it does |\n| --- | --- |\n")
	for _, v := range s.verbs() {
		names := make([]string, len(v.words))
		for i, w := range v.words {
			names[i] = code(strings.TrimSpace(w + " " + v.args))
		}
		fmt.Fprintf(&out, "| %s | %s |\n", strings.Join(names, ", "), v.help)
	}
	parts["commands"] = out.String()
	return parts
}

// referenceScreen has every part, so that each key stands in its tables.
func referenceScreen(t *testing.T, player port.Player) *screen {
	t.Helper()
	snap := shop(t, 0)
	full := shopOptions(snap)
	full.Loops, full.Approvals = &fakeLoops{}, &gate{}
	full.Owners, full.Revisions = &fakeOwners{tree: shopTree(), cascade: shopCascades()}, &fakeRevisions{lists: shopRevisions()}
	full.Player = player
	return newScreen(t, full, snap, 100, 28)
}

// pagesReference has a heading for each page, its picture and its keys.
func pagesReference(t *testing.T, s *screen) string {
	pictures := map[page.ID][]string{
		page.Controllers: {"controllers"}, page.Queues: {"queues", "story"}, page.Informers: {"cache"},
		page.Tree: {"tree", "delete"}, page.Revisions: {"revisions"}, page.Timeline: {"timeline"},
	}
	// below are the levels that a page opens, with the keys that lead there.
	below := map[page.ID][]struct {
		title string
		open  func()
	}{
		page.Informers: {{"In a cache", func() { s.press(":", "type:pods", "enter") }}},
		page.Tree:      {{"In a delete preview", func() { s.press("G", "x") }}},
		page.Timeline:  {{"In the story of an object", func() { s.send(page.JumpMsg{Page: page.Timeline, To: shopWeb}) }}},
	}
	var out strings.Builder
	for _, row := range s.table {
		s.carryOut(s.model.show(row.id, true))
		words := make([]string, 0, len(row.words)+1)
		for _, w := range append([]string{strings.ToLower(row.name)}, row.words...) {
			words = append(words, code(":"+w))
		}
		fmt.Fprintf(&out, "\n### %d %s\n\n%s\n\nAlso %s.\n\n", row.id, row.name, row.about, strings.Join(words, ", "))
		for _, name := range pictures[row.id] {
			fmt.Fprintf(&out, "![%s](screens/%s.svg)\n\n", shotTitle(t, name), name)
		}
		out.WriteString(keyTable(s.page().Actions(s.env)))
		for _, level := range below[row.id] {
			before := keyTable(s.page().Actions(s.env))
			level.open()
			after := keyTable(s.page().Actions(s.env))
			if s.shown != row.id || before == after {
				t.Errorf("%s: %q was not opened", row.name, level.title)
			}
			fmt.Fprintf(&out, "\n%s:\n\n%s", level.title, after)
			s.press("esc")
		}
	}
	return out.String()
}

const tableHead = "| key | what it does |\n| --- | --- |\n"

// keyTable is a table of keys.
func keyTable(actions []page.Action) string {
	var out strings.Builder
	out.WriteString(tableHead)
	for _, a := range actions {
		names := make([]string, len(a.Keys))
		for i, k := range a.Keys {
			names[i] = code(spelt(k))
		}
		help := strings.ReplaceAll(a.Help, "|", `\|`)
		fmt.Fprintf(&out, "| %s | %s |\n", strings.Join(names, " "), help)
	}
	return out.String()
}

// spelt is a key as a word, for a cell of a table.
func spelt(key string) string {
	switch key {
	case " ":
		return "space"
	case "|":
		return `\|`
	}
	return key
}

func code(s string) string { return "`" + s + "`" }

// cursorKey is a group of keys that move, which lists and texts take apart
// themselves.
type cursorKey struct {
	keys []string
	help string
}

func cursorKeys() []cursorKey {
	return []cursorKey{
		{[]string{"up", "k"}, "One row up."},
		{[]string{"down", "j"}, "One row down."},
		{[]string{"pgup", "ctrl+b"}, "A screenful up."},
		{[]string{"pgdown", "ctrl+f"}, "A screenful down."},
		{[]string{"ctrl+u"}, "Half a screenful up."},
		{[]string{"ctrl+d"}, "Half a screenful down."},
		{[]string{"home", "g"}, "To the first row."},
		{[]string{"end", "G"}, "To the last row."},
	}
}

// textKeys are the keys of a text beyond those of a list.
func textKeys() []cursorKey {
	return []cursorKey{{[]string{" "}, "A screenful down; the keys of the cursor scroll too."}, {[]string{"n", "N"}, "To the next line that was searched for; to the one before."}}
}

func cursorTable(groups []cursorKey) string {
	actions := make([]page.Action, len(groups))
	for i, g := range groups {
		actions[i] = page.Action{Keys: g.keys, Help: g.help}
	}
	return keyTable(actions)
}

// The keys of the cursor are no actions: each key of a keyboard is tried.
func TestReferenceHasTheCursorKeys(t *testing.T) {
	var all []string
	for k := tea.KeyType(-100); k < 200; k++ {
		if name := (tea.KeyMsg{Type: k}).String(); name != "" && k != tea.KeyRunes {
			all = append(all, name)
		}
	}
	for r := ' '; r <= '~'; r++ {
		all = append(all, string(r))
	}
	named := func(groups []cursorKey) (out []string) {
		for _, g := range groups {
			out = append(out, g.keys...)
		}
		return out
	}
	ofLists, ofTexts := named(cursorKeys()), append(named(cursorKeys()), named(textKeys())...)
	for _, key := range all {
		if got := (&widget.List{}).Key(widget.Slice[int]{}, key); got != slices.Contains(ofLists, key) {
			t.Errorf("%q moves a cursor: %v, and the reference says otherwise", key, got)
		}
		if got := (&widget.TextView{}).Key(key); got != slices.Contains(ofTexts, key) {
			t.Errorf("%q scrolls a text: %v, and the reference says otherwise", key, got)
		}
	}
}

// What the README says of the screen is of its tables too.
func TestReadmeNamesThePages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range pages() {
		if !strings.Contains(string(text), fmt.Sprintf("| %d %s |", row.id, row.name)) {
			t.Errorf("README.md has no row of page %d %s", row.id, row.name)
		}
	}
	for _, theme := range widget.Themes() {
		if !strings.Contains(string(text), code(theme)) {
			t.Errorf("README.md does not name the theme %s", theme)
		}
	}
	if got := strings.Count(string(text), "](docs/screens/"); got < 2 {
		t.Errorf("README.md shows %d pictures", got)
	}
}
