// Package recording writes the journal of a session to a file and plays it back.
//
//	hub --Writer--> FILE --Reader--> entries, one after another (replay, get … --from)
//	                     --Player--> snapshots at any time, like a hub (the TUI)
//
// A recording is the output of package state's Encoder: JSON Lines, a header first. A
// file whose name ends in .jsonl contains them uncompressed, any other is compressed
// with zstd; a reader detects the format from the content.
//
// # Writing
//
// The file is accessible by the user only (0600) regardless of the umask, never
// replaces an existing file unless requested, and is append-only: it is readable up to
// the last flush, at most about a second ago, however the program ends. Producers have
// removed the values of Secrets before they record (redact.Redact).
//
// A recording may start in the middle of a session. It then begins with the Snapshot of
// that moment, in pieces (state.Checkpoint), and folding it yields the session's own
// Snapshots from there on, including all counts. Synthetic entries (an informer synced,
// an object listed, a key added) were rejected as an alternative: they would have wrong
// totals and times, and could not represent a sync in flight.
//
// A file has a size limit. Entries beyond it are counted, and reported at that place in
// the recording and by Stats.
//
// # Reading
//
// A recording is untrusted input. Unreadable lines become Unknown events, which a Fold
// counts; a truncated or corrupted file ends there, and Problem describes it; lines,
// the total size and the number of entries are limited, so that a small file cannot
// exhaust the memory.
package recording
