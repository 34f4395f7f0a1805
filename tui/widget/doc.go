// Package widget has the parts with which pages of the terminal UI are drawn: a windowed list,
// a text view that scrolls, an input line, a filter, and the cells, lines and styles that they
// consist of. It depends on no page, no controller and no snapshot.
//
// # Drawing
//
// Every function that draws returns exactly h lines of w cells. Style.Of makes cells from text
// of a cluster, which are sanitised and truncated when they are drawn; nothing else reaches
// the terminal:
//
//	widget.Line{widget.Dim.Of(" why "), widget.Text.Of(cause)}
//
// A style is a meaning (Bad, Dim, Title); a Theme defines its look. A style is never the only
// indicator of a state.
//
// # Lists
//
// A List reads only the visible rows from its Rows, and its cursor follows the identity of a
// row, not its position. Slice makes Rows from data that is small enough to be visited
// completely; pages with more data provide their own Rows.
package widget
