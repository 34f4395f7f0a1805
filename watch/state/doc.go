// Package state is the vocabulary of kctl-ctrl: what can be observed of a
// controller (Event), one line of the journal (Entry), and the picture that a
// journal adds up to (Snapshot).
//
// It is a leaf. It imports the standard library and a copy-on-write tree, does
// no I/O but on readers and writers handed to it, starts no goroutine and reads
// no clock, so that a recording, a replay, a test and a live session mean the
// same thing.
//
// The flow through it is one way:
//
//	Event --(numbered and dated by the hub)--> Entry --Fold--> Snapshot
//
// A journal is written and read by Encoder and Decoder as JSON Lines, and by
// people as the lines of Describe. A Snapshot is immutable and bounded; what a
// bound has cost is in Snapshot.Bounds.
//
// Producers (the taps of reconcile, the informers of watch) create Events and
// hand them to a Recorder. They must have removed the values of Secrets with
// watch/redact before: nothing below looks for them again.
package state
