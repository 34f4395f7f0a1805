package widget

import (
	"fmt"
	"slices"
	"testing"
)

func words(names ...string) Slice[string] {
	return Slice[string]{names, func(s string) string { return s }, func(s string) []Cell { return []Cell{Plain(s)} }}
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
	l := &List{Height: 5}
	l.Sync(words(numbers(10, 30)...))
	before := words(numbers(0, 30)...)
	l.Sync(before)
	if l.Selected != "0" || l.Top != 0 {
		t.Errorf("on the first row: cursor on %q, top %d", l.Selected, l.Top)
	}

	l.Move(before, 7)
	l.Sync(words(numbers(-10, 30)...))
	if l.Selected != "7" || l.Cursor != 17 || l.Cursor-l.Top != 4 {
		t.Errorf("after a move: %+v", *l)
	}
	l.ToTop()
	l.Sync(before)
	if l.Selected != "0" || l.Top != 0 {
		t.Errorf("after a sort: %+v", *l)
	}
	l.Seek("29")
	l.Sync(before)
	if l.Cursor != 29 || l.Top != 25 {
		t.Errorf("sought: %+v", *l)
	}
	// A row that goes and comes back has the cursor again, unless it was moved.
	l.Sync(words("0", "1"))
	l.Sync(words(numbers(0, 30)...))
	if l.Cursor != 29 || l.Selected != "29" {
		t.Errorf("gone and back: %+v", *l)
	}
	l.Sync(words("0", "1", "2"))
	l.Move(words("0", "1", "2"), -1)
	l.Sync(words(numbers(0, 30)...))
	if l.Cursor != 1 || l.Selected != "1" {
		t.Errorf("gone, moved and back: %+v", *l)
	}
	l.Seek("40")
	l.Sync(before)
	if l.Sync(words(append(slices.Clone(before.Items), numbers(30, 50)...)...)); l.Cursor != 40 {
		t.Errorf("sought before it is there: %+v", *l)
	}
}
