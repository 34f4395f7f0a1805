// Package document defines the results of kctl-ctrl as data: what `diff`, `why`, `tree`
// and `cascade` print, in every output format, and what the TUI shows of them.
//
//	Plan                  the effects of a change on a cluster once its controllers have settled
//	Why, WhyStory         why an object is in its current state, and what controllers do with it
//	OwnerTree, Cascade    owners and dependents, and the effects of a deletion
//
// It is a leaf next to watch/state, whose terms it uses: packages that compute results
// (reconcile/plan, watch/owners, watch/diagnosis) and packages that display them
// (render, tui) share it without importing each other. The JSON fields are the
// program's output format: they keep their names.
//
// Documents are plain values. Lists are sorted, and never nil where a field says so;
// watch/redact has removed the values of Secrets before.
package document
