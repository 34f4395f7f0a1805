package state

import "time"

// Revision is one recorded version of an object's pod template: a ReplicaSet of
// a Deployment, or a ControllerRevision of anything else.
type Revision struct {
	// Revision is its number: it grows, and a rollback gives the old template a
	// new one.
	Revision int64 `json:"revision"`
	// Former are the numbers that it had before rollbacks to it; Deployments only.
	Former []int64 `json:"formerRevisions,omitempty"`
	// Object is the ReplicaSet or ControllerRevision.
	Object Ref `json:"object"`
	// Hash is what pods of it are labelled with.
	Hash    string    `json:"hash,omitempty"`
	Created time.Time `json:"creationTimestamp,omitzero"`
	// ChangeCause is the annotation kubernetes.io/change-cause.
	ChangeCause string `json:"changeCause,omitempty"`
	// Images are those of the template's containers, init containers first.
	Images []string `json:"images,omitempty"`
	// Pods are the names of the pods that run it, sorted. They are nil where
	// pods may not be read: PodsKnown of the list tells.
	Pods []string `json:"pods,omitempty"`
	// PodCount is their number.
	PodCount int `json:"podCount"`
	// Current marks what the pods are expected to run where nothing is rolled
	// out, Update what the object asks for now. They are the same revision
	// unless a rollout is under way, stands still, or has been held by a
	// partition.
	Current bool `json:"current,omitempty"`
	Update  bool `json:"update,omitempty"`
}

// RevisionList is the history of one object.
type RevisionList struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Object     Ref    `json:"object"`
	// ObjectKind is "Deployment".
	ObjectKind string `json:"objectKind"`
	// Strategy is "RollingUpdate", "Recreate" or "OnDelete".
	Strategy string `json:"strategy,omitempty"`
	// Partition holds back the pods of a StatefulSet below this ordinal.
	Partition *int64 `json:"partition,omitempty"`
	Paused    bool   `json:"paused,omitempty"`
	// PodsKnown is false where the pods could not be read.
	PodsKnown bool `json:"podsKnown"`
	// Items are in the order of their numbers.
	Items []Revision `json:"items"`
	// Remarks say in words what the rows do not.
	Remarks []string `json:"remarks,omitempty"`
}

// RevisionDiff is what differs between two revisions, or between one and the
// object as it is.
type RevisionDiff struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Object     Ref    `json:"object"`
	ObjectKind string `json:"objectKind"`
	// From and To are "3" or "live".
	From       string        `json:"from"`
	To         string        `json:"to"`
	HasChanges bool          `json:"hasChanges"`
	Changes    []FieldChange `json:"changes,omitempty"`
	Remarks    []string      `json:"remarks,omitempty"`
}

// RevisionUndo is what `kubectl rollout undo --to-revision` would send, and
// which fields of the object that changes.
type RevisionUndo struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Object     Ref    `json:"object"`
	ObjectKind string `json:"objectKind"`
	To         int64  `json:"toRevision"`
	// PatchType is the media type of Patch, which is JSON.
	PatchType  string        `json:"patchType,omitempty"`
	Patch      any           `json:"patch,omitempty"`
	HasChanges bool          `json:"hasChanges"`
	Changes    []FieldChange `json:"changes,omitempty"`
	Remarks    []string      `json:"remarks,omitempty"`
}
