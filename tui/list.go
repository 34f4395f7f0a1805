package tui

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// rows is what a list shows. A list asks for those on the screen only.
type rows interface {
	Len() int
	// ID tells row i apart from all others, whatever its place.
	ID(i int) string
	Cells(i int) []cell
	// Find is the place of a row, or -1.
	Find(id string) int
}

// column is one column of a list.
type column struct {
	title string
	right bool
	// min and max bound its width; what is left over goes to the columns with
	// the largest grow, which have no max.
	min, max int
	grow     bool
	// ends: what does not fit is cut out of its middle, as both ends say more, such
	// as those of a name after its type.
	ends bool
	// aging: it changes with the time alone, and is left out of plain lines.
	aging bool
	// drop: on a narrow screen columns go in this order, 1 first; 0 never.
	drop int
}

// list is a window on rows. The selection is an identity: rows may come, go and
// move, and the cursor stays on its own.
type list struct {
	columns []column
	// selected is the ID of the row under the cursor, cursor its place when it
	// was last looked up, top the place of the first row on the screen.
	selected    string
	cursor, top int
	height      int
	// sought: the cursor is to go to selected, wherever that row is.
	sought bool
}

// seek puts the cursor on a row, once it is there.
func (l *list) seek(id string) { l.selected, l.sought = id, true }

// toTop puts the cursor on the first row, whatever that will be: after a sort or a
// filter the list is another one.
func (l *list) toTop() { l.selected, l.sought, l.cursor, l.top = "", false, 0, 0 }

// sync finds the cursor's row again. One that has gone leaves the cursor where it
// was. A cursor on the first row stays there, whatever row that is: the list is
// read from its top, until the cursor is moved.
func (l *list) sync(r rows) {
	n := r.Len()
	if n == 0 {
		l.cursor, l.top = 0, 0
		return
	}
	if l.selected != "" && (l.sought || l.cursor > 0 || l.top > 0) {
		if l.cursor >= n || r.ID(l.cursor) != l.selected {
			if at := r.Find(l.selected); at >= 0 {
				l.top += at - l.cursor // the row keeps its place on the screen
				l.cursor, l.sought = at, false
			}
		} else {
			l.sought = false
		}
	}
	if l.sought { // and not there yet
		l.show(n, l.cursor)
		return
	}
	l.move(r, 0)
}

// move puts the cursor by rows further and selects what is there.
func (l *list) move(r rows, by int) { l.to(r, l.cursor+by) }

func (l *list) to(r rows, at int) {
	n := r.Len()
	if n == 0 {
		return
	}
	l.show(n, at)
	l.sought = false
	if id := r.ID(l.cursor); id != "" { // a row that is not loaded yet has none
		l.selected = id
	}
}

// show puts the cursor on row at of n and the window around it.
func (l *list) show(n, at int) {
	l.cursor = min(max(at, 0), n-1)
	h := max(l.height, 1)
	l.top = min(l.top, l.cursor)
	l.top = max(l.top, l.cursor-h+1)
	l.top = max(min(l.top, n-h), 0)
}

// key moves the cursor; false where the key is none of a list's.
func (l *list) key(r rows, key string) bool {
	page := max(l.height-1, 1)
	switch key {
	case "up", "k":
		l.move(r, -1)
	case "down", "j":
		l.move(r, 1)
	case "pgup", "ctrl+b":
		l.move(r, -page)
	case "pgdown", "ctrl+f":
		l.move(r, page)
	case "ctrl+u":
		l.move(r, -max(page/2, 1))
	case "ctrl+d":
		l.move(r, max(page/2, 1))
	case "home", "g":
		l.to(r, 0)
	case "end", "G":
		l.to(r, r.Len()-1)
	default:
		return false
	}
	return true
}

// view draws the titles and the rows in exactly h lines of w cells. It asks for
// at most h rows.
func (l *list) view(t *Theme, r rows, w, h int, empty string) []string {
	l.height = max(h-1, 1)
	l.sync(r)
	n := r.Len()
	end := min(l.top+l.height, n)
	var window [][]cell
	for i := l.top; i < end; i++ {
		window = append(window, r.Cells(i))
	}
	widths := l.widths(window, w-len(marker))
	titles := make([]cell, len(l.columns))
	for i, c := range l.columns {
		titles[i] = word(c.title, styleTitle)
	}
	out := []string{l.draw(t, titles, widths, w, false)}
	for i, cells := range window {
		out = append(out, l.draw(t, cells, widths, w, l.top+i == l.cursor))
	}
	if n == 0 && empty != "" && h > 2 {
		for _, l := range indent(wrapped(empty, min(w-3, 100), styleDim), 2) {
			out = append(out, l.draw(t, w, false, styleText))
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

func (l *list) draw(t *Theme, cells []cell, widths []int, w int, selected bool) string {
	over, lead := styleText, strings.Repeat(" ", len(marker))
	if selected {
		over, lead = styleSelected, marker
	}
	var out strings.Builder
	out.WriteString(t.paint(render.Truncate(lead, w), over))
	used := min(len(marker), w)
	for i, c := range l.columns {
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
		content := cell{}
		if i < len(cells) {
			content = cells[i]
		}
		if c.ends {
			content = content.bothEnds(width)
		}
		out.WriteString(content.draw(t, width, c.right, over))
		used += width
	}
	if used < w {
		out.WriteString(t.paint(strings.Repeat(" ", w-used), over))
	}
	return out.String()
}

// widths shares w among the columns, by what the window needs.
func (l *list) widths(window [][]cell, w int) []int {
	widths := make([]int, len(l.columns))
	for i, c := range l.columns {
		widths[i] = max(c.min, render.Width(c.title))
		for _, cells := range window {
			if i < len(cells) {
				widths[i] = max(widths[i], render.Width(cells[i].text()))
			}
		}
		if c.max > 0 {
			widths[i] = min(widths[i], max(c.max, render.Width(c.title)))
		}
	}
	for order := 1; l.need(widths) > w && order <= len(l.columns); order++ {
		for i, c := range l.columns {
			if c.drop == order && l.need(widths) > w && l.floor(widths) > w {
				widths[i] = 0
			}
		}
	}
	l.shrink(widths, w)
	for i, c := range l.columns {
		if c.grow && widths[i] > 0 {
			widths[i] += max(w-l.need(widths), 0)
			break
		}
	}
	return widths
}

func (l *list) need(widths []int) int {
	sum, shown := 0, 0
	for _, v := range widths {
		if v > 0 {
			sum, shown = sum+v, shown+1
		}
	}
	return sum + gap*max(shown-1, 0)
}

// floor is the least width of the columns that are left: those that grow may be
// cut to their min.
func (l *list) floor(widths []int) int {
	low := make([]int, len(widths))
	for i, v := range widths {
		low[i] = v
		if l.columns[i].grow && v > 0 {
			low[i] = min(v, max(l.columns[i].min, 8))
		}
	}
	return l.need(low)
}

// shrink cuts the columns that grow, the widest first, until all fit.
func (l *list) shrink(widths []int, w int) {
	for l.need(widths) > w {
		widest := -1
		for i, c := range l.columns {
			if c.grow && widths[i] > max(c.min, 8) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		excess := l.need(widths) - w
		next := 0
		for i, c := range l.columns {
			if c.grow && i != widest {
				next = max(next, widths[i])
			}
		}
		to := max(widths[widest]-excess, max(l.columns[widest].min, 8))
		if next < widths[widest] {
			to = max(to, next)
		} else {
			to = max(to, widths[widest]-(excess+1)/2)
		}
		if to >= widths[widest] {
			to = widths[widest] - 1
		}
		widths[widest] = to
	}
}

// slice is rows of a slice that is small enough to be walked.
type slice[T any] struct {
	items []T
	id    func(T) string
	cells func(T) []cell
}

func (s slice[T]) Len() int           { return len(s.items) }
func (s slice[T]) ID(i int) string    { return s.id(s.items[i]) }
func (s slice[T]) Cells(i int) []cell { return s.cells(s.items[i]) }

func (s slice[T]) Find(id string) int {
	for i, item := range s.items {
		if s.id(item) == id {
			return i
		}
	}
	return -1
}

// at is the item under the cursor.
func (s slice[T]) at(l *list) (T, bool) {
	l.sync(s)
	if l.cursor < 0 || l.cursor >= len(s.items) {
		var none T
		return none, false
	}
	return s.items[l.cursor], true
}
