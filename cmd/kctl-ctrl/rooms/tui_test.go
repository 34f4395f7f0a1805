package rooms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// floors are those of the terminal UI, the lowest first. A package imports from
// floors below its own only: pages do not know each other, and nothing that is
// drawn with knows a page.
var floors = [][]string{
	{"tui/widget"},
	{"tui/port"},
	{"tui/page"},
	{"tui/page/detail"},
	{"tui/page/"}, // each page, and what lies below it
	{"tui"},
}

// floorOf is the floor of a package of the terminal UI; -1 for others.
func floorOf(path string) int {
	rel, ours := strings.CutPrefix(path, module)
	if !ours {
		return -1
	}
	for i, packages := range floors {
		if slices.Contains(packages, rel) {
			return i
		}
	}
	if strings.HasPrefix(rel, "tui/page/") {
		return slices.IndexFunc(floors, func(packages []string) bool { return slices.Contains(packages, "tui/page/") })
	}
	if rel == "tui" || strings.HasPrefix(rel, "tui/") {
		return len(floors) // what is not listed is above all
	}
	return -1
}

// upwards lists imports from the same floor or a higher one.
func upwards(packages []listed) []string {
	var found []string
	for _, p := range packages {
		floor := floorOf(p.ImportPath)
		if floor < 0 {
			continue
		}
		for _, i := range p.Imports {
			if to := floorOf(i); to >= floor {
				found = append(found, fmt.Sprintf("%s imports %s", strings.TrimPrefix(p.ImportPath, module), strings.TrimPrefix(i, module)))
			}
		}
	}
	return found
}

func TestNoImportOfTheTUIRunsUp(t *testing.T) {
	packages := list(t)
	for _, f := range upwards(packages) {
		t.Errorf("%s\n\tforbidden: imports go from tui to tui/page/NAME to tui/page to tui/port to tui/widget; pages jump by message", f)
	}
	pages := 0
	for _, p := range packages {
		if strings.HasPrefix(p.ImportPath, module+"tui/page/") && !strings.HasSuffix(p.ImportPath, "/detail") {
			pages++
		}
	}
	if pages < 8 {
		t.Errorf("only %d pages were found", pages)
	}
}

func TestUpwardsSees(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"tui/page/tree", "tui/page/queues", true}, {"tui/page", "tui/page/tree", true}, {"tui/widget", "tui/port", true},
		{"tui/page/tree", "tui", true}, {"tui/page/detail", "tui/page/writes", true}, {"tui/port", "tui/page", true},
		{"tui", "tui/page/tree", false}, {"tui/page/tree", "tui/page/detail", false}, {"tui/page/tree", "tui/page", false},
		{"tui/page", "tui/widget", false}, {"cmd/kctl-ctrl", "tui", false}, {"tui/page/tree", "watch/state", false},
	} {
		got := len(upwards([]listed{{ImportPath: module + c.from, Imports: []string{module + c.to}}})) > 0
		if got != c.want {
			t.Errorf("%s imports %s: found %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
