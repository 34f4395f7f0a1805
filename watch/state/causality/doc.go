// Package causality makes cause and effect of a journal: which event led a key to be
// added to a queue, to which sync and write, and what followed from it.
//
//	snapshot.Recent --Link--> Links: Hops, each with its parent and how that is known
//	Hops of an object or a key --Story--> Branches: what a timeline shows
//
// A link is observed (a label of a goroutine, a resourceVersion) or supposed, and says
// which. It is pure, as watch/state is: it reads a Snapshot and changes nothing.
package causality
