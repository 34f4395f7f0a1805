package render

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// cell is one cell of a grid. Lead is drawn unchanged before the text: the branches of
// a tree, whose spaces a Table would remove.
type cell struct {
	lead string
	text string
	style
}

// grid is a table of styled cells. Columns without text are omitted.
type grid struct {
	titles []string
	rows   [][]cell
}

func (g *grid) add(cells ...cell) { g.rows = append(g.rows, cells) }

// draw returns the grid's lines, truncated to width cells unless width is zero.
func (g *grid) draw(width int, noHeaders, color bool) string {
	widths := make([]int, len(g.titles))
	texts := make([][]string, len(g.rows))
	for r, row := range g.rows {
		texts[r] = make([]string, len(row))
		for c, cell := range row {
			texts[r][c] = cell.lead + strings.TrimSpace(Sanitise(state.OneLine(cell.text)))
			widths[c] = max(widths[c], Width(texts[r][c]))
		}
	}
	for c, title := range g.titles {
		if widths[c] > 0 && !noHeaders {
			widths[c] = max(widths[c], Width(title))
		}
	}
	var out strings.Builder
	var head line
	for c, title := range g.titles {
		if widths[c] > 0 {
			head = append(head, span{Pad(title, widths[c]) + columnGap, bold})
		}
	}
	if !noHeaders {
		out.WriteString(head.draw(width, color) + "\n")
	}
	for r, row := range g.rows {
		var l line
		last := len(row) - 1
		for last > 0 && texts[r][last] == "" {
			last--
		}
		for c := 0; c <= last; c++ {
			if widths[c] == 0 {
				continue
			}
			text := texts[r][c]
			padding := strings.Repeat(" ", widths[c]-Width(text)) + columnGap
			if c == last {
				padding = ""
			}
			lead := row[c].lead
			l = append(l, span{lead, dim}, span{strings.TrimPrefix(text, lead), row[c].style}, span{padding, plain})
		}
		out.WriteString(strings.TrimRight(l.draw(width, color), " ") + "\n")
	}
	return out.String()
}
