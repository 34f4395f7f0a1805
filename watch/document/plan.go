package document

import (
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// PlanAPIVersion and PlanKind identify machine-readable plans.
const (
	PlanAPIVersion = "kctl-ctrl.dev/v1alpha1"
	PlanKind       = "Plan"
)

// Plan is the effect of changed manifests on a cluster once its controllers have
// settled: the difference between the settled state before and after, by owner.
//
// A plan contains nothing that differs between runs: generated names are patterns
// ("web-7c9d4f-*"), identical dependents are counted, and times, UIDs, addresses and
// node names are left out. Secret values are masked. Lists are sorted and never nil.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// KubernetesVersion is the simulated release, "v1.37.1".
	KubernetesVersion string `json:"kubernetesVersion"`

	// HasChanges determines the exit code: false means that applying the manifests
	// changes nothing and no controller acts.
	HasChanges bool        `json:"hasChanges"`
	Summary    PlanSummary `json:"summary"`

	// Roots are the objects without owner, each with what its controllers changed below
	// it. Subtrees without changes are left out.
	Roots []PlanNode `json:"roots"`
	// FieldDiffs are the changed fields of objects that existed before and after,
	// grouped by who changed them.
	FieldDiffs []PlanFieldDiff `json:"fieldDiffs"`

	// Warnings are important to the reader: pods that cannot run, rollouts that do not
	// finish, the API server's own warnings.
	Warnings []string `json:"warnings"`
	// NotSimulated lists what would act in a real cluster and did not here, as far as
	// it affects these manifests.
	NotSimulated []string `json:"notSimulated"`
	// Timers are what controllers will do later without further changes.
	Timers []string `json:"timers"`
	// Unsettled lists what was still in progress at the timeout. The plan is partial
	// unless it is empty.
	Unsettled []string `json:"unsettled"`
}

// PlanSummary has the totals.
type PlanSummary struct {
	// Create, Change, Delete and Unchanged count the objects of the manifests.
	Create    int `json:"create"`
	Change    int `json:"change"`
	Delete    int `json:"delete"`
	Unchanged int `json:"unchanged"`
	// Controllers counts, by kind, the changes that controllers made in response.
	Controllers []PlanTally `json:"controllers"`
}

// PlanTally counts what happened to the objects of one kind.
type PlanTally struct {
	Kind string `json:"kind"`
	PlanCounts
	// Scaled counts objects whose spec.replicas changed; they are included in the
	// changed ones.
	Scaled int `json:"scaled,omitempty"`
}

// PlanCounts counts objects by what happened to them. An object that was deleted and
// recreated under the same name is Replaced.
type PlanCounts struct {
	Created   int `json:"created,omitempty"`
	Changed   int `json:"changed,omitempty"`
	Replaced  int `json:"replaced,omitempty"`
	Deleted   int `json:"deleted,omitempty"`
	Unchanged int `json:"unchanged,omitempty"`
}

// PlanAction is what happened to a node of the tree.
type PlanAction string

const (
	PlanCreated   PlanAction = "created"
	PlanChanged   PlanAction = "changed"
	PlanReplaced  PlanAction = "replaced"
	PlanDeleted   PlanAction = "deleted"
	PlanUnchanged PlanAction = "unchanged"
)

// PlanBy is who made a change.
type PlanBy string

const (
	// PlanByUser: the manifests.
	PlanByUser PlanBy = "user"
	// PlanByServer: the API server's defaulting and admission.
	PlanByServer PlanBy = "server"
	// PlanByControllers: a controller, the scheduler or a simulated node.
	PlanByControllers PlanBy = "controllers"
)

// PlanObject identifies an object as its manifest does. In Name, "*" stands for a
// generated part.
type PlanObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// PlanNode is one object, or the identical dependents of one owner whose names are
// generated.
type PlanNode struct {
	PlanObject
	Action PlanAction `json:"action"`
	By     PlanBy     `json:"by"`
	// Counts has the objects that the node represents: one, except for generated names.
	Counts PlanCounts `json:"counts"`
	// Implied marks an object that was created although no manifest contains it: a
	// namespace.
	Implied bool `json:"implied,omitempty"`
	// Source is the position of the manifest, "web.yaml:12".
	Source string `json:"source,omitempty"`
	// Scale is set if spec.replicas changed or was set at creation.
	Scale *PlanScale `json:"scale,omitempty"`
	// Status is a summary of its health.
	Status   PlanTransition `json:"status,omitzero"`
	Note     string         `json:"note,omitempty"`
	Children []PlanNode     `json:"children,omitempty"`
}

// PlanScale is a number of replicas before and after.
type PlanScale struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// PlanTransition is a word before and after; From is empty for new objects and To for
// deleted ones.
type PlanTransition struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// PlanFieldDiff lists fields of one object, or of Count objects with the same
// pattern of name and the same changes.
type PlanFieldDiff struct {
	PlanObject
	By      PlanBy              `json:"by"`
	Count   int                 `json:"count"`
	Changes []state.FieldChange `json:"changes"`
}
