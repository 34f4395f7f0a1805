package widget

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Rows is what a list shows. A list asks for those on the screen only.
type Rows interface {
	Len() int
	// ID tells row i apart from all others, whatever its place.
	ID(i int) string
	Cells(i int) []Cell
	// Find is the place of a row, or -1.
	Find(id string) int
}

// Column is one column of a list.
type Column struct {
	Title string
	Right bool
	// Min and Max bound its width. What is left over goes to the first column that
	// grows and has no Max; where there is too little, those that grow are cut.
	Min, Max int
	Grow     bool
	// Ends: what does not fit is cut out of its middle, as both ends say more, such
	// as those of a name after its type.
	Ends bool
	// Aging: it changes with the time alone, and is left out of plain lines.
	Aging bool
	// Want is up to which width its content is not cut as long as there are columns
	// that may be dropped instead.
	Want int
	// Drop: on a narrow screen columns go in this order, 1 first; 0 never.
	Drop int
}

// List is a window on rows. The selection is an identity: rows may come, go and
// move, and the cursor stays on its own.
type List struct {
	Columns []Column
	// Selected is the ID of the row under the cursor, Cursor its place when it
	// was last looked up, Top the place of the first row on the screen.
	Selected    string
	Cursor, Top int
	// Height is how many rows are drawn, as Resize said last.
	Height int
	// sought: the cursor is to go to Selected, wherever that row is.
	sought bool
	// lost is the row that the user had put the cursor on, where it has gone.
	lost string
}

// Seek puts the cursor on a row, once it is there.
func (l *List) Seek(id string) { l.Selected, l.sought, l.lost = id, true, "" }

// ToTop puts the cursor on the first row, whatever that will be: after a sort or a
// filter the list is another one.
func (l *List) ToTop() { l.Selected, l.sought, l.lost, l.Cursor, l.Top = "", false, "", 0, 0 }

// Sync finds the cursor's row again. One that has gone leaves the cursor where it
// was, until it comes back or the cursor is moved. A cursor on the first row stays there, whatever row that is: the list is
// read from its top, until the cursor is moved.
func (l *List) Sync(r Rows) {
	n := r.Len()
	if n == 0 {
		l.Cursor, l.Top = 0, 0
		return
	}
	if l.lost != "" && r.Find(l.lost) >= 0 {
		l.Selected, l.sought, l.lost = l.lost, true, ""
	}
	if l.Selected != "" && (l.sought || l.Cursor > 0 || l.Top > 0) {
		if l.Cursor >= n || r.ID(l.Cursor) != l.Selected {
			if at := r.Find(l.Selected); at >= 0 {
				l.Top += at - l.Cursor // the row keeps its place on the screen
				l.Cursor, l.sought = at, false
			} else if !l.sought && l.lost == "" {
				l.lost = l.Selected
			}
		} else {
			l.sought = false
		}
	}
	if l.sought { // and not there yet
		l.show(n, l.Cursor)
		return
	}
	l.put(r, l.Cursor)
}

// Move puts the cursor by rows further and selects what is there.
func (l *List) Move(r Rows, by int) { l.To(r, l.Cursor+by) }

// To puts the cursor on a place and selects what is there.
func (l *List) To(r Rows, at int) {
	l.lost = ""
	l.put(r, at)
}

func (l *List) put(r Rows, at int) {
	n := r.Len()
	if n == 0 {
		return
	}
	l.show(n, at)
	l.sought = false
	if id := r.ID(l.Cursor); id != "" { // a row that is not loaded yet has none
		l.Selected = id
	}
}

// show puts the cursor on row at of n and the window around it.
func (l *List) show(n, at int) {
	l.Cursor = min(max(at, 0), n-1)
	h := max(l.Height, 1)
	l.Top = min(l.Top, l.Cursor)
	l.Top = max(l.Top, l.Cursor-h+1)
	l.Top = max(min(l.Top, n-h), 0)
}

// Key moves the cursor; false where the key is none of a list's.
func (l *List) Key(r Rows, key string) bool {
	page := max(l.Height-1, 1)
	switch key {
	case "up", "k":
		l.Move(r, -1)
	case "down", "j":
		l.Move(r, 1)
	case "pgup", "ctrl+b":
		l.Move(r, -page)
	case "pgdown", "ctrl+f":
		l.Move(r, page)
	case "ctrl+u":
		l.Move(r, -max(page/2, 1))
	case "ctrl+d":
		l.Move(r, max(page/2, 1))
	case "home", "g":
		l.To(r, 0)
	case "end", "G":
		l.To(r, r.Len()-1)
	default:
		return false
	}
	return true
}

// At is the place of the row under the cursor; -1 where there is none.
func (l List) At(r Rows) int {
	l.Sync(r)
	if l.Cursor < 0 || l.Cursor >= r.Len() {
		return -1
	}
	return l.Cursor
}

// Place says which rows are visible: "1–19 of 49".
func (l List) Place(r Rows) string {
	l.Sync(r)
	n := r.Len()
	if n == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d–%d of %d", l.Top+1, min(l.Top+max(l.Height, 1), n), n)
}

// Resize says in how many lines the list will be drawn, its titles among them.
func (l *List) Resize(h int) { l.Height = max(h-1, 1) }

// View draws the titles and the rows in exactly h lines of w cells. It asks for
// at most h rows, and changes nothing: what it draws of rows that came since the
// last Sync is not kept.
func (l List) View(t *Theme, r Rows, w, h int, empty string) []string {
	l.Resize(h)
	l.Sync(r)
	n := r.Len()
	end := min(l.Top+l.Height, n)
	var window [][]Cell
	for i := l.Top; i < end; i++ {
		window = append(window, r.Cells(i))
	}
	widths := l.widths(window, w-len(marker))
	titles := make([]Cell, len(l.Columns))
	for i, c := range l.Columns {
		titles[i] = Word(c.Title, Title)
	}
	shared := l.shared(window)
	out := []string{l.draw(t, titles, widths, make([]int, len(widths)), w, false)}
	for i, cells := range window {
		out = append(out, l.draw(t, cells, widths, shared, w, l.Top+i == l.Cursor))
	}
	if n == 0 && empty != "" && h > 2 {
		for _, l := range Indent(Wrapped(empty, min(w-3, 100), Dim), 2) {
			out = append(out, l.Draw(t, w, false, Text))
		}
	}
	for len(out) < h {
		out = append(out, strings.Repeat(" ", max(w, 0)))
	}
	return out[:max(h, 0)]
}

// marker stands before the row under the cursor, for screens without colours.
const marker = "> "

const gap = 2

func (l List) draw(t *Theme, cells []Cell, widths, shared []int, w int, selected bool) string {
	over, lead := Text, strings.Repeat(" ", len(marker))
	if selected {
		over, lead = Selected, marker
	}
	var out strings.Builder
	out.WriteString(t.paint(render.Truncate(lead, w), over))
	used := min(len(marker), w)
	for i, c := range l.Columns {
		if widths[i] == 0 {
			continue
		}
		if used > len(marker) {
			space := min(gap, w-used)
			out.WriteString(t.paint(strings.Repeat(" ", max(space, 0)), over))
			used += space
		}
		width := min(widths[i], w-used)
		if width <= 0 {
			break
		}
		content := Cell{}
		if i < len(cells) {
			content = cells[i]
		}
		if c.Ends {
			content = content.bothEnds(width, shared[i])
		}
		out.WriteString(content.Draw(t, width, c.Right, over))
		used += width
	}
	if used < w {
		out.WriteString(t.paint(strings.Repeat(" ", w-used), over))
	}
	return out.String()
}

// shared is how long a beginning all texts of a column have in common, up to the end
// of a part of a name, for the columns that are cut in their middle.
func (l List) shared(window [][]Cell) []int {
	out := make([]int, len(l.Columns))
	for i, c := range l.Columns {
		if !c.Ends || len(window) < 2 {
			continue
		}
		common, first := "", true
		for _, cells := range window {
			text := ""
			if i < len(cells) {
				text = cells[i].Text()
			}
			switch {
			case text == "":
			case first:
				common, first = text, false
			default:
				for !strings.HasPrefix(text, common) {
					common = common[:len(common)-1]
				}
			}
		}
		out[i] = strings.LastIndexAny(common, "/-. ") + 1
	}
	return out
}

// widths shares w among the columns, by what the window needs.
func (l List) widths(window [][]Cell, w int) []int {
	widths, content := make([]int, len(l.Columns)), make([]int, len(l.Columns))
	for i, c := range l.Columns {
		widths[i] = max(c.Min, render.Width(c.Title))
		for _, cells := range window {
			if i < len(cells) {
				widths[i] = max(widths[i], render.Width(cells[i].Text()))
			}
		}
		content[i] = widths[i]
		if c.Max > 0 {
			widths[i] = min(widths[i], max(c.Max, render.Width(c.Title)))
		}
	}
	for order := 1; l.need(widths) > w && order <= len(l.Columns); order++ {
		for i, c := range l.Columns {
			if c.Drop == order && l.need(widths) > w && l.floor(widths) > w {
				widths[i] = 0
			}
		}
	}
	l.shrink(widths, w)
	for i := range l.Columns { // nothing is cut while there is room
		if widths[i] > 0 {
			widths[i] += min(max(content[i]-widths[i], 0), max(w-l.need(widths), 0))
		}
	}
	for i, c := range l.Columns {
		if c.Grow && c.Max == 0 && widths[i] > 0 {
			widths[i] += max(w-l.need(widths), 0)
			break
		}
	}
	return widths
}

func (l List) need(widths []int) int {
	sum, shown := 0, 0
	for _, v := range widths {
		if v > 0 {
			sum, shown = sum+v, shown+1
		}
	}
	return sum + gap*max(shown-1, 0)
}

// floor is the least width of the columns that are left: those that grow may be
// cut to what they want, or their min.
func (l List) floor(widths []int) int {
	low := make([]int, len(widths))
	for i, v := range widths {
		low[i] = v
		if l.Columns[i].Grow && v > 0 {
			low[i] = min(v, l.Columns[i].least(true))
		}
	}
	return l.need(low)
}

// shrink cuts the columns that grow, the widest first, until all fit: at first not
// below what they want.
func (l List) shrink(widths []int, w int) {
	for _, wants := range []bool{true, false} {
		for l.need(widths) > w {
			widest := -1
			for i, c := range l.Columns {
				if c.Grow && widths[i] > c.least(wants) && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			excess, next := l.need(widths)-w, 0
			for i, c := range l.Columns {
				if c.Grow && i != widest {
					next = max(next, widths[i])
				}
			}
			to := widths[widest] - excess
			if next < widths[widest] {
				to = max(to, next)
			} else {
				to = max(to, widths[widest]-(excess+1)/2)
			}
			widths[widest] = max(min(to, widths[widest]-1), l.Columns[widest].least(wants))
		}
	}
}

// least is how narrow a column that grows may become, with or without what it wants.
func (c Column) least(wants bool) int {
	if wants {
		return max(c.Min, c.Want, 8)
	}
	return max(c.Min, 8)
}

// Slice is rows of a slice that is small enough to be walked.
type Slice[T any] struct {
	Items   []T
	IDOf    func(T) string
	CellsOf func(T) []Cell
}

func (s Slice[T]) Len() int           { return len(s.Items) }
func (s Slice[T]) ID(i int) string    { return s.IDOf(s.Items[i]) }
func (s Slice[T]) Cells(i int) []Cell { return s.CellsOf(s.Items[i]) }

func (s Slice[T]) Find(id string) int {
	for i, item := range s.Items {
		if s.IDOf(item) == id {
			return i
		}
	}
	return -1
}

// At is the item under the cursor.
func (s Slice[T]) At(l List) (T, bool) {
	at := l.At(s)
	if at < 0 {
		var none T
		return none, false
	}
	return s.Items[at], true
}
