package state

import "time"

// Question is a write that waits for an answer, with what is to be known before
// it is given.
type Question struct {
	ID    int       `json:"id"`
	Since time.Time `json:"since"`
	// Controller writes, because of Cause. Why says what is behind that, as far
	// as it is known.
	Controller string `json:"controller"`
	Cause      Cause  `json:"cause"`
	Why        string `json:"why,omitempty"`
	// Client is the user agent of a program of the user's own, which writes for
	// reasons of its own; empty for a loop of this process.
	Client string `json:"client,omitempty"`
	// Verb, Object and Subresource are those of the request; Text says them in a
	// line: "update deployments.apps shop/web/status".
	Verb        string `json:"verb"`
	Object      Ref    `json:"object"`
	Subresource string `json:"subresource,omitempty"`
	Text        string `json:"text"`
	// Diff says which fields change, redacted; Problem why that cannot be told.
	// Approximate is as of WriteFinished.
	Diff        []FieldChange `json:"diff,omitempty"`
	Approximate bool          `json:"approximate,omitempty"`
	Problem     string        `json:"problem,omitempty"`
	// Skipped counts how often the same write was skipped before.
	Skipped int `json:"skipped,omitempty"`
	// Braked: it has been approved, and waits for the brake alone.
	Braked bool `json:"braked,omitempty"`
	// Covers says in words what the answers for more than this write let go;
	// those that cannot be given are not in it.
	Covers map[Answer]string `json:"covers,omitempty"`
}

// Answer is what becomes of a Question.
type Answer string

const (
	// AnswerYes lets this one write go.
	AnswerYes Answer = "yes"
	// AnswerKey lets every write go that the controller makes in a sync of the
	// same key, from now on; where no key is known, every write that it makes of the
	// same object. AnswerController and AnswerVerb do so for every write
	// of the controller, and for every write with the same verb by any controller.
	AnswerKey        Answer = "key"
	AnswerController Answer = "controller"
	AnswerVerb       Answer = "verb"
	// AnswerSkip answers the write with an error.
	AnswerSkip Answer = "skip"
)
