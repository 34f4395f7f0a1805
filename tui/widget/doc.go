// Package widget has the parts that pages of the terminal UI are drawn with: a
// windowed list, a text that scrolls, a line that is typed, a filter, and the
// cells, lines and styles that they are made of. It knows no page, no controller
// and no snapshot.
//
// # Drawing
//
// Whatever draws returns exactly h lines of w cells. Text of a cluster becomes
// cells by way of Style.Of, and is sanitised and cut when it is drawn; nothing
// else reaches the terminal:
//
//	widget.Line{widget.Dim.Of(" why "), widget.Text.Of(cause)}
//
// A style is a meaning (Bad, Dim, Title); a Theme gives it a look. No state is
// shown by a style alone.
//
// # Lists
//
// A List asks its Rows for those on the screen only, and keeps its cursor by the
// identity of a row, not its place. Slice makes Rows of what is small enough to
// be walked; pages with more bring Rows of their own.
package widget
