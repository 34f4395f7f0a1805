// Package document holds the answers of kctl-ctrl as data: what `diff`, `why`,
// `tree` and `cascade` print, in every output format, and what the TUI shows of them.
//
//	Plan                  what a change does to a cluster once its controllers are done
//	Why, WhyStory         why an object is not as its spec says, and who is at it
//	OwnerTree, Cascade    owners and dependents, and what a deletion takes along
//
// It is a leaf beside watch/state, whose terms it uses: packages that find answers
// (reconcile/plan, watch/owners, watch/diagnosis) and packages that show them (render,
// tui) meet here without knowing each other. The JSON fields are the program's
// output: they keep their names.
//
// Documents are plain values. Lists are sorted and never nil where a field says so;
// values of Secrets were removed by watch/redact before.
package document
