package document

import (
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// PlanAPIVersion and PlanKind head every machine-readable plan.
const (
	PlanAPIVersion = "kctl-ctrl.dev/v1alpha1"
	PlanKind       = "Plan"
)

// Plan is what a change of manifests does to a cluster once its controllers
// have reacted and come to rest: the settled state before against the settled
// state after, per owner.
//
// A plan holds nothing that differs from run to run: generated names are
// patterns ("web-7c9d4f-*"), identical dependents are counted, and times, UIDs,
// addresses and node names are left out. Secret values are masked. Lists are
// sorted and never nil.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// KubernetesVersion is the release that was simulated, "v1.37.1".
	KubernetesVersion string `json:"kubernetesVersion"`

	// HasChanges is the exit code's source: false means that applying the
	// manifests changes nothing and makes no controller act.
	HasChanges bool        `json:"hasChanges"`
	Summary    PlanSummary `json:"summary"`

	// Roots are the objects nobody owns, each with what its controllers did
	// below it. Subtrees in which nothing changed are left out.
	Roots []PlanNode `json:"roots"`
	// FieldDiffs are the changed fields of objects that were there before and
	// after, apart by who changed them.
	FieldDiffs []PlanFieldDiff `json:"fieldDiffs"`

	// Warnings are what a reader should not miss: pods that cannot run,
	// rollouts that do not finish, the API server's own warnings.
	Warnings []string `json:"warnings"`
	// NotSimulated names what would act in a real cluster and did not here,
	// as far as it concerns these manifests.
	NotSimulated []string `json:"notSimulated"`
	// Timers are what controllers will do later without any further change.
	Timers []string `json:"timers"`
	// Unsettled says what was still going on when the time was up. The plan is
	// partial unless it is empty.
	Unsettled []string `json:"unsettled"`
}

// PlanSummary counts.
type PlanSummary struct {
	// Create, Change, Delete and Unchanged count the objects of the manifests.
	Create    int `json:"create"`
	Change    int `json:"change"`
	Delete    int `json:"delete"`
	Unchanged int `json:"unchanged"`
	// Controllers counts by kind what the controllers did in response.
	Controllers []PlanTally `json:"controllers"`
}

// PlanTally counts what happened to the objects of one kind.
type PlanTally struct {
	Kind string `json:"kind"`
	PlanCounts
	// Scaled counts objects whose spec.replicas changed; they are among the
	// changed ones.
	Scaled int `json:"scaled,omitempty"`
}

// PlanCounts is a multiset of objects by what happened to them. An object that
// was deleted and made again under the same name is Replaced.
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

// PlanBy is who did it.
type PlanBy string

const (
	// PlanByUser: the manifests ask for it.
	PlanByUser PlanBy = "user"
	// PlanByServer: the API server's defaulting and admission added it.
	PlanByServer PlanBy = "server"
	// PlanByControllers: a controller, the scheduler or a simulated node did.
	PlanByControllers PlanBy = "controllers"
)

// PlanObject names an object as its manifest does. In Name, "*" stands for a
// generated part.
type PlanObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// PlanNode is one object, or the identical dependents of one owner whose names
// are generated.
type PlanNode struct {
	PlanObject
	Action PlanAction `json:"action"`
	By     PlanBy     `json:"by"`
	// Counts are of the objects behind the node: one, except for generated
	// names.
	Counts PlanCounts `json:"counts"`
	// Implied marks what the manifests do not contain and was created for
	// them: a namespace.
	Implied bool `json:"implied,omitempty"`
	// Source is where the manifest stands, "web.yaml:12".
	Source string `json:"source,omitempty"`
	// Scale is set where spec.replicas changed, or was given at creation.
	Scale *PlanScale `json:"scale,omitempty"`
	// Status is the state of health in a few words.
	Status   PlanTransition `json:"status,omitzero"`
	Note     string         `json:"note,omitempty"`
	Children []PlanNode     `json:"children,omitempty"`
}

// PlanScale is a number of replicas before and after.
type PlanScale struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// PlanTransition is a word before and after; From is empty for new objects and
// To for deleted ones.
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
