package render

import (
	"io"
	"strings"
)

// Column is one column of a Table.
type Column struct {
	Title string
	// Right aligns numbers.
	Right bool
	// Max cuts cells to a number of terminal cells; zero leaves them whole.
	Max int
	// Min is the minimum width of the column: with the Widths of an earlier table, the
	// lines of a stream stay aligned.
	Min int
}

// Table is text in columns as kubectl prints it: titles in capitals, three spaces
// between columns, no trailing spaces. Cells are sanitised when the table is written.
type Table struct {
	Columns []Column
	// Rows have a cell per column; missing cells are empty, extra cells are not
	// printed.
	Rows [][]string
}

// TableOptions control the text of a Table.
type TableOptions struct {
	// Width cuts lines to a number of cells; zero leaves them whole.
	Width     int
	NoHeaders bool
	// Color makes the titles bold.
	Color bool
}

const columnGap = "   "

// Write prints the table in one call of w.Write; without rows, the titles only.
func (t Table) Write(w io.Writer, opts TableOptions) error {
	_, err := io.WriteString(w, t.Text(opts))
	return err
}

// Text is the whole table, each line with its newline.
func (t Table) Text(opts TableOptions) string {
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	rows := make([][]string, 0, len(t.Rows)+1)
	if !opts.NoHeaders {
		rows = append(rows, t.clean(titles))
	}
	for _, r := range t.Rows {
		rows = append(rows, t.clean(r))
	}
	widths := t.widths(rows)
	var out strings.Builder
	for i, r := range rows {
		text := t.join(r, widths)
		if opts.Width > 0 {
			text = Truncate(text, opts.Width)
		}
		if i == 0 && !opts.NoHeaders {
			text = paint(text, bold, opts.Color)
		}
		out.WriteString(text + "\n")
	}
	return out.String()
}

// Widths are the columns' widths in terminal cells, titles included.
func (t Table) Widths() []int {
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	rows := [][]string{t.clean(titles)}
	for _, r := range t.Rows {
		rows = append(rows, t.clean(r))
	}
	return t.widths(rows)
}

func (t Table) widths(rows [][]string) []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = c.Min
	}
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	return widths
}

func (t Table) clean(row []string) []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		if i >= len(row) {
			break
		}
		out[i] = strings.TrimSpace(Sanitise(row[i]))
		if c.Max > 0 {
			out[i] = Truncate(out[i], c.Max)
		}
	}
	return out
}

func (t Table) join(cells []string, widths []int) string {
	var out strings.Builder
	for i, cell := range cells {
		if i > 0 {
			out.WriteString(columnGap)
		}
		if t.Columns[i].Right {
			out.WriteString(strings.Repeat(" ", widths[i]-Width(cell)) + cell)
		} else {
			out.WriteString(Pad(cell, widths[i]))
		}
	}
	return strings.TrimRight(out.String(), " ")
}
