// Package state is the data model of kctl-ctrl: what can be observed of a controller (Event),
// one line of the journal (Entry), and the state that results from a journal (Snapshot).
//
// It is a leaf. It imports the standard library and a copy-on-write tree. It does I/O only on
// readers and writers that the caller passes, starts no goroutine and reads no clock, so that
// a recording, a replay, a test and a live session give the same results.
//
// Data flows in one direction:
//
//	Event --(numbered and dated by the hub)--> Entry --Fold--> Snapshot
//
// Encoder and Decoder write and read a journal as JSON Lines; Describe prints the lines for
// people. A Snapshot is immutable and bounded; Snapshot.Bounds counts what was dropped.
//
// Producers (the taps of reconcile, the informers of watch) create Events and pass them to a
// Recorder. They must first remove the values of Secrets with watch/redact: nothing below
// checks for them again.
package state
