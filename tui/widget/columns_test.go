package widget

import (
	"strings"
	"testing"

	"github.com/muesli/termenv"
)

func drawn(t *testing.T, l List, r Rows, w int) []string {
	t.Helper()
	theme, err := NewTheme("mono", termenv.Ascii)
	if err != nil {
		t.Fatal(err)
	}
	return l.View(theme, r, w, r.Len()+1, "")
}

func rowsOf(rows ...[]string) Slice[[]string] {
	return Slice[[]string]{Items: rows, IDOf: func(r []string) string { return strings.Join(r, " ") }, CellsOf: func(r []string) []Cell {
		cells := make([]Cell, len(r))
		for i, text := range r {
			cells[i] = Plain(text)
		}
		return cells
	}}
}

// A column's bound gives way where there is room.
func TestNothingIsCutWhileThereIsRoom(t *testing.T) {
	l := List{Columns: []Column{{Title: "CONTROLLER", Max: 12}, {Title: "KEY", Grow: true, Min: 8}, {Title: "WHY", Max: 10}}}
	r := rowsOf([]string{"persistentvolume-expander", "shop/data", "a long reason"}, []string{"persistentvolume-binder", "shop/web", ""})
	if out := drawn(t, l, r, 80); strings.Contains(strings.Join(out, ""), "…") {
		t.Errorf("cut at 80 cells:\n%s", strings.Join(out, "\n"))
	}
	if out := drawn(t, l, r, 37); !strings.Contains(out[1], "persistentv…") || !strings.Contains(out[1], "a long re…") {
		t.Errorf("not cut at 37 cells:\n%s", strings.Join(out, "\n"))
	}
}

// A column that wants its content has others dropped before it is cut.
func TestColumnsGoBeforeNamesAreCut(t *testing.T) {
	l := List{Columns: []Column{{Title: "STATE"}, {Title: "KEY", Grow: true, Min: 8, Want: 24, Ends: true}, {Title: "LAST", Drop: 1}, {Title: "RETRY"}}}
	r := rowsOf([]string{"ready", "shop/mail-worker-7b786c", "failed", "3"})
	out := drawn(t, l, r, 42)
	if !strings.Contains(out[1], "shop/mail-worker-7b786c") || strings.Contains(out[0], "LAST") || !strings.Contains(out[0], "RETRY") {
		t.Errorf("drawn as\n%s", strings.Join(out, "\n"))
	}
}

// Names are cut where they are equal.
func TestNamesAreCutWhereTheyAreEqual(t *testing.T) {
	l := List{Columns: []Column{{Title: "KEY", Grow: true, Min: 8, Ends: true}}}
	r := rowsOf([]string{"shop-production/web-7495c8b46-w7dtc"}, []string{"shop-production/web-7495c8b46-x2x9l"}, []string{"shop-production/db-0"})
	out := drawn(t, l, r, 32)
	for i, want := range []string{"> shop-produ…web-7495c8b46-w7dtc", "  shop-produ…web-7495c8b46-x2x9l", "  shop-production/db-0"} {
		if got := strings.TrimRight(out[i+1], " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
