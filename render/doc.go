// Package render turns data into text: journal lines, tables, the closing summary of a
// run, plans. It is pure: the same entries or snapshot and the same options give the
// same bytes, on a terminal, in a pipe and in a test. Colour, width and time are
// parameters; nothing here reads the environment.
//
// Text from a cluster is hostile: a name, message or label may contain escape
// sequences, bidi overrides or a megabyte of text. Everything printed goes through
// Sanitise, the one place where text becomes safe for a terminal. Machine formats
// escape instead; see state.EncodeEntry.
//
// A cell of a Table is never empty, so that columns stay distinguishable: as in
// kubectl, None stands for a missing text, and NoFigure for a missing number, duration
// or time. Only a last column of remarks, such as WHY, LAST ERROR or CHANGE, may be
// empty. In trees and in tables laid out like them, missing values stay blank.
package render
