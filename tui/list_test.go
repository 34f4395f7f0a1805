package tui

import (
	"fmt"
	"slices"
	"testing"
)

func words(names ...string) slice[string] {
	return slice[string]{names, func(s string) string { return s }, func(s string) []cell { return []cell{plainCell(s)} }}
}

func numbers(from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

// A list is read from its top: while the cursor is on the first row, rows that come
// in above push the others down. Once it has been moved, or is sought on a row, it
// stays on that row, and the row stays where it is on the screen.
func TestListStaysAtTheTopUntilTheCursorIsMoved(t *testing.T) {
	l := &list{height: 5}
	l.sync(words(numbers(10, 30)...))
	before := words(numbers(0, 30)...)
	l.sync(before)
	if l.selected != "0" || l.top != 0 {
		t.Errorf("on the first row: cursor on %q, top %d", l.selected, l.top)
	}

	l.move(before, 7)
	l.sync(words(numbers(-10, 30)...))
	if l.selected != "7" || l.cursor != 17 || l.cursor-l.top != 4 {
		t.Errorf("after a move: %+v", *l)
	}
	l.toTop()
	l.sync(before)
	if l.selected != "0" || l.top != 0 {
		t.Errorf("after a sort: %+v", *l)
	}
	l.seek("29")
	l.sync(before)
	if l.cursor != 29 || l.top != 25 {
		t.Errorf("sought: %+v", *l)
	}
	l.seek("40")
	l.sync(before)
	if l.sync(words(append(slices.Clone(before.items), numbers(30, 50)...)...)); l.cursor != 40 {
		t.Errorf("sought before it is there: %+v", *l)
	}
}
