// Package recording writes the journal of a session to a file, and plays it.
//
//	hub --Writer--> FILE --Reader--> entries, one after another (replay, get … --from)
//	                     --Player--> snapshots at any time, like a hub (the screen)
//
// A recording is what package state's Encoder writes: JSON Lines, a header
// first. A file whose name ends in .jsonl has them as they are, any other is
// compressed with zstd; a reader looks at the bytes and not at the name.
//
// # Writing
//
// The file is the user's alone (0600) whatever the umask, is never one that was
// there before unless that is asked for, and only grows: it is readable up to
// the last flush, which is about a second old at most, however the program ends.
// Producers have removed the values of Secrets before they record (redact.Redact);
// nothing is looked for here again.
//
// A recording may begin in the middle of a session. It then opens with the
// Snapshot of that moment, in pieces (state.Checkpoint), and folding it gives
// the Snapshot of the session itself from there on, counts and all. It is that
// which was chosen over invented entries (an informer synced, an object listed, a key
// added): those would give sums and times of their own, and could not say what a
// worker is in the middle of.
//
// A file has a bound. What comes after it is counted, and said at its place in
// the recording and by Stats.
//
// # Reading
//
// A recording is somebody else's file. Lines that cannot be read become Unknown
// events, which a Fold counts; a file that was cut or is damaged ends where that
// is, and Problem says so; lines, the text as a whole and the number of entries
// have bounds, so that a small file cannot fill the memory.
package recording
