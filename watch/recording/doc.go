// Package recording writes the journal of a session to a file, and plays it.
//
//	hub --Writer--> FILE --Reader--> entries, one after another (replay, get … --from)
//	                     --Player--> snapshots at any time, like a hub (the TUI)
//
// A recording is the output of package state's Encoder: JSON Lines, a header first. A file
// whose name ends in .jsonl is not compressed, any other is compressed with zstd; a reader
// checks the bytes and not the name.
//
// # Writing
//
// The file has mode 0600, whatever the umask. An existing file is not overwritten unless the
// caller asks for it. The file only grows: it is readable up to the last flush, which is at
// most about a second old, however the program ends. Producers remove the values of Secrets
// before they record (redact.Redact); this package does not check that again.
//
// A recording may start in the middle of a session. It then begins with the Snapshot of that
// moment, in pieces (state.Checkpoint), and folding it produces the Snapshots of the session
// itself from there on, including counts. The alternative, synthetic entries (an informer
// synced, an object listed, a key added), would produce different sums and times, and could
// not represent keys that are in flight.
//
// A file has a maximum size. Entries beyond it are counted, and reported at their position in
// the recording and by Stats.
//
// # Reading
//
// A recording is untrusted. Lines that cannot be read become Unknown events, which Fold
// counts. A truncated or damaged file ends at the damage, and Problem reports it. Lines, the
// text as a whole and the number of entries are limited, so that a small file cannot exhaust
// the memory.
package recording
