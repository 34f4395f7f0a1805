package document

import (
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// WhyKind names the document of why.
const WhyKind = "Why"

// Why is the answer to "why is this object as it is?".
type Why struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Context is the kubeconfig's name for the cluster.
	Context string        `json:"context"`
	Object  OwnedObject   `json:"object"`
	Status  *ObjectStatus `json:"status,omitempty"`
	// Findings are what stands in the way, the most probable root first. None
	// means that no check found anything.
	Findings []Finding `json:"findings"`
	// Checks are the causes that were looked for.
	Checks []string `json:"checks"`
	// Story is what the loops do with the object; nil where they were not run.
	Story *WhyStory `json:"story,omitempty"`
	// Gaps are what could not be read: checks that need it are silent.
	Gaps []ReadGap `json:"gaps,omitempty"`
	Cost ReadCost  `json:"cost"`
}

// Certainty says how far the evidence of a finding goes.
type Certainty string

const (
	// Certain: the fields in evidence say so.
	Certain Certainty = "certain"
	// Likely: they fit, and something that was not read could explain it too.
	Likely Certainty = "likely"
)

// Role orders findings: what is at the root comes before what follows from it.
type Role string

const (
	// RoleCause is at the root, as far as can be seen.
	RoleCause Role = "cause"
	// RoleSymptom follows from something else, found or not.
	RoleSymptom Role = "symptom"
	// RoleRemark is worth knowing and explains nothing by itself.
	RoleRemark Role = "remark"
)

// Finding is one cause, with what it is read from.
type Finding struct {
	// Cause is a word: "Paused", "QuotaExceeded".
	Cause string `json:"cause"`
	// Text is one sentence.
	Text      string     `json:"text"`
	Role      Role       `json:"role"`
	Certainty Certainty  `json:"certainty"`
	Object    state.Ref  `json:"object"`
	Evidence  []Evidence `json:"evidence"`
	// Next is what to do, or to look at.
	Next string `json:"next,omitempty"`
}

// Evidence is a field with its value, or an Event's text.
type Evidence struct {
	Object state.Ref `json:"object"`
	// Path is "spec.paused", or "event FailedCreate".
	Path  string `json:"path"`
	Value string `json:"value"`
}

// WhyStory is what loops did with an object when only its keys, and those of what
// it owns, were let through to their workers.
type WhyStory struct {
	Mode state.Mode `json:"mode"`
	// Loops are those that ran. Without one, Why says why none did.
	Loops []string `json:"loops"`
	Why   string   `json:"why,omitempty"`
	// Namespace is the one that the informers were confined to; empty for the
	// whole cluster.
	Namespace string      `json:"namespace,omitempty"`
	Syncs     []StorySync `json:"syncs"`
	// Left counts the syncs that a bound left out.
	Left  int          `json:"left,omitempty"`
	Later []StoryLater `json:"later,omitempty"`
	// Held counts the keys of other objects that were held back.
	Held int `json:"held"`
	// Moving says in words what had not come to rest when time was up.
	Moving []string `json:"moving,omitempty"`
}

// StorySync is a sync of one key: what it was for and what it would write.
type StorySync struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
	// Causes are the first of the additions that led to it, CauseCount counts
	// all.
	Causes     []state.Cause `json:"causes,omitempty"`
	CauseCount int           `json:"causeCount"`
	Failed     bool          `json:"failed,omitempty"`
	Error      string        `json:"error,omitempty"`
	Writes     []StoryWrite  `json:"writes,omitempty"`
	// Repeat counts the syncs of the same key after this one that went the same
	// way.
	Repeat int `json:"repeat,omitempty"`
}

// StoryWrite is a write of a sync; Count of them differ in the object's name
// only.
type StoryWrite struct {
	Verb        string              `json:"verb"`
	Object      state.Ref           `json:"object"`
	Subresource string              `json:"subresource,omitempty"`
	Count       int                 `json:"count"`
	Result      state.WriteResult   `json:"result"`
	Status      int                 `json:"status,omitempty"`
	Message     string              `json:"message,omitempty"`
	Diff        []state.FieldChange `json:"diff,omitempty"`
	// FirstHop: nothing was written, so nothing reacted to it.
	FirstHop bool `json:"firstHop,omitempty"`
}

// StoryLater is a key that a queue holds until its time.
type StoryLater struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// In is how long after the end of the run, "4m10s".
	In      string `json:"in"`
	Retries int    `json:"retries,omitempty"`
}
