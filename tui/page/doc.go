// Package page is the contract between the root of the terminal UI and its pages,
// with what several pages share. Each page is a package below it.
//
// # The contract
//
// A Page gets messages and an Env, and gives lines of cells, a title, and Actions:
// its keys with their help. What the cursor is on is a Subject, in words that other
// pages understand. Pages do not import each other: a page that leads to another
// sends a JumpMsg with the other's ID and a Subject, and the root asks the other
// to Focus on it.
//
// # Where things happen
//
// Update works out what is shown: it takes over the snapshot, sorts, and starts
// commands for whatever takes time or asks somebody. An answer comes back in a
// ResultMsg and counts only if it is that of the latest question (Asking, Stale).
// Drawing is a pure function of the snapshot, the page, the time and the size.
//
// # Shared parts
//
// Base has the filter that most pages have. Kept follows a ring of the journal,
// Linking finds causes and effects of a snapshot, Asking repeats a question while
// a page is shown, and Pacing keeps costly work to a small part of the time.
// Package detail says in lines what is known of a write, of a step from cause to
// effect, and of an entry of the journal.
package page
