// Package render turns what is known into text: journal lines, tables, the
// closing summary of a run, plans. It is pure: the same entries or snapshot and
// the same options give the same bytes, on a terminal, in a pipe and in a test.
// Colour, width and time are parameters; nothing here looks at the environment.
//
// Text of a cluster is hostile: a name, message or label may hold escape
// sequences, bidi overrides or a megabyte. Everything printed goes through
// Sanitise, the one place where text becomes safe for a terminal. Machine
// formats escape instead; see state.EncodeEntry.
//
// A cell of a Table is never empty, so that the columns can be told apart: None
// stands for a text that there is none of, as kubectl writes it, and NoFigure for a
// number, a duration or a time. Only a last column that remarks on its row, such as
// WHY, LAST ERROR or CHANGE, has nothing where there is nothing to remark. In a tree
// and in what is laid out like one, what is missing stays blank.
package render
