// Package redact has the two ways in which an object of a cluster becomes part of an
// event, a recording or a document: a copy without what must not be shown (Redact), and
// the list of fields that differ between two (Diff), which redacts too.
//
// Nothing below looks for the values of Secrets again. The package is a leaf beside
// watch/state, whose FieldChange and Ref it uses. It does no I/O and keeps nothing.
package redact
