package approve

import (
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Question is a write that waits.
type Question struct {
	ID    int
	Since time.Time
	// Controller writes, because of Cause.
	Controller string
	Cause      state.Cause
	// Verb, Object and Subresource are those of the request; Text says them in a
	// line: "update deployments.apps shop/web/status".
	Verb        string
	Object      state.Ref
	Subresource string
	Text        string
	// Diff says which fields change, redacted; Problem why that cannot be told.
	Diff        []state.FieldChange
	Approximate bool
	Problem     string
	// Skipped counts how often the same write was skipped before.
	Skipped int
	// Braked: it has been approved, and waits for the brake alone.
	Braked bool
}

// Answer is what becomes of a question.
type Answer string

const (
	// Yes lets this one write go.
	Yes Answer = "yes"
	// YesKey lets every write go that the controller makes in a sync of the same
	// key, from now on. YesController and YesVerb do so for every write of the
	// controller, and for every write with the same verb by any controller.
	YesKey        Answer = "key"
	YesController Answer = "controller"
	YesVerb       Answer = "verb"
	// Skip answers the write with an error.
	Skip Answer = "skip"
)

// Covers says in words what an answer would let go, for a question; empty where
// it cannot be given.
func (q Question) Covers(a Answer) string {
	g, ok := grantFor(a, subject{controller: q.Controller, cause: q.Cause, verb: q.Verb, subresource: q.Subresource, object: q.Object})
	if !ok {
		return ""
	}
	return g.String()
}

// identity tells the writes apart that were skipped before. Names that the
// server is to make do not count.
func (w subject) identity() string {
	return strings.Join([]string{w.controller, w.cause.Key, w.verb, w.object.Type(), w.object.Namespace, w.object.Name, w.subresource}, " ")
}
