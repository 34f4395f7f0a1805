package document

import (
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// WhyKind names the document of why.
const WhyKind = "Why"

// Why is the result of `why`: why an object is in its current state.
type Why struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Context is the kubeconfig's name for the cluster.
	Context string        `json:"context"`
	Object  OwnedObject   `json:"object"`
	Status  *ObjectStatus `json:"status,omitempty"`
	// Findings are the causes found, the most probable root cause first. It is empty if
	// no check found anything.
	Findings []Finding `json:"findings"`
	// Checks are the causes that were checked.
	Checks []string `json:"checks"`
	// Story is what controllers do with the object; nil if they were not run.
	Story *WhyStory `json:"story,omitempty"`
	// Gaps are what could not be read: checks that need it report nothing.
	Gaps []ReadGap `json:"gaps,omitempty"`
	Cost ReadCost  `json:"cost"`
}

// Certainty is how conclusive the evidence of a finding is.
type Certainty string

const (
	// Certain: the fields in the evidence prove it.
	Certain Certainty = "certain"
	// Likely: the fields match, but something that was not read could explain them,
	// too.
	Likely Certainty = "likely"
)

// Role orders findings: root causes precede their consequences.
type Role string

const (
	// RoleCause is a root cause, as far as known.
	RoleCause Role = "cause"
	// RoleSymptom is the consequence of another cause, found or not.
	RoleSymptom Role = "symptom"
	// RoleRemark is useful to know but explains nothing by itself.
	RoleRemark Role = "remark"
)

// Finding is one cause with its evidence.
type Finding struct {
	// Cause is an identifier: "Paused", "QuotaExceeded".
	Cause string `json:"cause"`
	// Text is one sentence.
	Text      string     `json:"text"`
	Role      Role       `json:"role"`
	Certainty Certainty  `json:"certainty"`
	Object    state.Ref  `json:"object"`
	Evidence  []Evidence `json:"evidence"`
	// Next is the next step.
	Next string `json:"next,omitempty"`
}

// Evidence is a field with its value, or the message of an Event.
type Evidence struct {
	Object state.Ref `json:"object"`
	// Path is "spec.paused", or "event FailedCreate".
	Path  string `json:"path"`
	Value string `json:"value"`
}

// WhyStory is what controllers did with an object when only its keys, and those of its
// dependents, were passed to their workers.
type WhyStory struct {
	Mode state.Mode `json:"mode"`
	// Loops are the controllers that ran. If there are none, Why is the reason.
	Loops []string `json:"loops"`
	Why   string   `json:"why,omitempty"`
	// Namespace is the one to which the informers were restricted; empty for all
	// namespaces.
	Namespace string      `json:"namespace,omitempty"`
	Syncs     []StorySync `json:"syncs"`
	// Left counts the syncs that a limit left out.
	Left  int          `json:"left,omitempty"`
	Later []StoryLater `json:"later,omitempty"`
	// Held counts the keys of other objects that were held back.
	Held int `json:"held"`
	// Moving lists what had not settled at the timeout.
	Moving []string `json:"moving,omitempty"`
}

// StorySync is a sync of one key: its causes and its writes.
type StorySync struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
	// Causes are the first events that added the key; CauseCount counts all.
	Causes     []state.Cause `json:"causes,omitempty"`
	CauseCount int           `json:"causeCount"`
	Failed     bool          `json:"failed,omitempty"`
	Error      string        `json:"error,omitempty"`
	Writes     []StoryWrite  `json:"writes,omitempty"`
	// Repeat counts further syncs of the same key with the same result.
	Repeat int `json:"repeat,omitempty"`
}

// StoryWrite is a write of a sync; Count is the number of writes that differ only in
// the object's name.
type StoryWrite struct {
	Verb        string              `json:"verb"`
	Object      state.Ref           `json:"object"`
	Subresource string              `json:"subresource,omitempty"`
	Count       int                 `json:"count"`
	Result      state.WriteResult   `json:"result"`
	Status      int                 `json:"status,omitempty"`
	Message     string              `json:"message,omitempty"`
	Diff        []state.FieldChange `json:"diff,omitempty"`
	// FirstHop: nothing was written, so no controller reacted to it.
	FirstHop bool `json:"firstHop,omitempty"`
}

// StoryLater is a key that is delayed in a queue.
type StoryLater struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// In is the delay after the end of the run, "4m10s".
	In      string `json:"in"`
	Retries int    `json:"retries,omitempty"`
}
