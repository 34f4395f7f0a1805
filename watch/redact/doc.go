// Package redact turns an object of a cluster into a part of an event, a recording or a
// document: Redact returns a copy without values that must not be shown, and Diff lists
// the fields that differ between two objects, redacted, too.
//
// Later stages do not look for the values of Secrets again. The package is a leaf next
// to watch/state, whose FieldChange and Ref it uses. It does no I/O and has no state.
package redact
