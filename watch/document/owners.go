package document

import (
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// OwnerTreeKind and CascadeKind name the documents of the owner graph.
const (
	OwnerTreeKind = "OwnerTree"
	CascadeKind   = "Cascade"
)

// OwnedObject is an object as the garbage collector knows it: its metadata.
type OwnedObject struct {
	state.Ref
	Kind    string    `json:"kind"`
	Created time.Time `json:"created,omitzero"`
	// Deleting is its deletionTimestamp: with a grace period a time to come.
	Deleting   time.Time  `json:"deleting,omitzero"`
	Finalizers []string   `json:"finalizers,omitempty"`
	Owners     []OwnerRef `json:"owners,omitempty"`
}

// APIVersion is "apps/v1", or "v1" for the core group.
func (o OwnedObject) APIVersion() string {
	if o.Group == "" {
		return o.Version
	}
	return o.Group + "/" + o.Version
}

// OwnerRef is one entry of metadata.ownerReferences.
type OwnerRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller,omitempty"`
	// BlockOwnerDeletion makes a foreground deletion of the owner wait.
	BlockOwnerDeletion bool `json:"blockOwnerDeletion,omitempty"`
}

// OwnerVerdict is what the garbage collector makes of an owner reference when
// it looks the owner up by apiVersion, kind and name, in the namespace of the
// dependent.
type OwnerVerdict string

const (
	// OwnerPresent: the owner is there, and keeps its dependent.
	OwnerPresent OwnerVerdict = "present"
	// OwnerWaiting: the owner is being deleted in the foreground and waits for
	// its dependents; it keeps none.
	OwnerWaiting OwnerVerdict = "waiting"
	// OwnerAbsent: nothing with that name and uid is where GC looks. A
	// dependent all of whose owners are absent is deleted.
	OwnerAbsent OwnerVerdict = "absent"
	// OwnerUnresolvable: the API server does not serve the kind now. GC tries
	// again for ever, and neither deletes nor changes the dependent.
	OwnerUnresolvable OwnerVerdict = "unresolvable"
	// OwnerInvalid: a cluster-scoped object names a namespaced owner. GC gives
	// up on the dependent.
	OwnerInvalid OwnerVerdict = "invalid"
	// OwnerUnknown: the owner could not be read here.
	OwnerUnknown OwnerVerdict = "unknown"
)

// OwnerEdge is how an object hangs on the owner above it in a tree.
type OwnerEdge struct {
	Controller         bool         `json:"controller,omitempty"`
	BlockOwnerDeletion bool         `json:"blockOwnerDeletion,omitempty"`
	Verdict            OwnerVerdict `json:"verdict"`
	// Why is for people, and empty where the owner is present.
	Why string `json:"why,omitempty"`
}

// OwnerNode is an object in a tree of owners.
type OwnerNode struct {
	Object OwnedObject `json:"object"`
	// Edge is nil for a root.
	Edge *OwnerEdge `json:"edge,omitempty"`
	// Status is nil where it was not read, or the kind has none.
	Status *ObjectStatus `json:"status,omitempty"`
	// Target marks the object that was asked for where owners stand above it.
	Target bool `json:"target,omitempty"`
	// Absent marks an owner that is known from references to it only.
	Absent bool `json:"absent,omitempty"`
	// Repeated: its dependents are shown where it came first. Cycle: it is one
	// of its own owners, directly or not, and stands above as well.
	Repeated bool `json:"repeated,omitempty"`
	Cycle    bool `json:"cycle,omitempty"`
	// Hidden counts the direct dependents that a bound on the depth leaves out.
	Hidden     int          `json:"hidden,omitempty"`
	Dependents []*OwnerNode `json:"dependents,omitempty"`
}

// Walk calls visit for the node and everything below it, top down.
func (n *OwnerNode) Walk(visit func(*OwnerNode)) {
	visit(n)
	for _, d := range n.Dependents {
		d.Walk(visit)
	}
}

// Health is one word for a status, from best to worst.
type Health string

const (
	HealthUnknown     Health = ""
	HealthReady       Health = "ready"
	HealthProgressing Health = "progressing"
	HealthFailed      Health = "failed"
)

// ObjectStatus is an object's status in the words of its kind.
type ObjectStatus struct {
	// Ready is "2/3", "True" or "False", or empty for a kind without such.
	Ready string `json:"ready,omitempty"`
	// State is a word: "Running", "CrashLoopBackOff", "Available".
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
	Health  Health `json:"health,omitempty"`
}

// ReadCost is what an answer cost the API server.
type ReadCost struct {
	Requests int64 `json:"requests"`
	// Bytes are those of the answers, uncompressed.
	Bytes int64 `json:"bytes"`
	// Types were listed, Objects were seen in them.
	Types    int           `json:"types"`
	Objects  int           `json:"objects"`
	Duration time.Duration `json:"-"`
}

// ReadGap names something that could not be read: the answer is partial.
type ReadGap struct {
	// Type is "secrets" or "widgets.shop.example", or an API group with its
	// version where nothing in it could be discovered.
	Type      string `json:"type"`
	Namespace string `json:"namespace,omitempty"`
	// Name is set where one object could not be read.
	Name string `json:"name,omitempty"`
	// Reason is "forbidden", "unavailable", "budget" or "failed".
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// OwnerTree is the answer of one cluster.
type OwnerTree struct {
	// Context is the kubeconfig's name for the cluster.
	Context string       `json:"context"`
	Roots   []*OwnerNode `json:"roots"`
	Gaps    []ReadGap    `json:"gaps,omitempty"`
	// NotOwnable are the types left out because GC does not watch them.
	NotOwnable []string `json:"notOwnable,omitempty"`
	// StatusNotRead counts the objects shown whose status was not read.
	StatusNotRead int      `json:"statusNotRead,omitempty"`
	Cost          ReadCost `json:"cost"`
}

// OwnerTreeList is what `tree` prints for programs.
type OwnerTreeList struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Items      []OwnerTree `json:"items"`
}

// CascadePolicy is a deletion's propagationPolicy.
type CascadePolicy string

const (
	CascadeBackground CascadePolicy = "Background"
	CascadeForeground CascadePolicy = "Foreground"
	CascadeOrphan     CascadePolicy = "Orphan"
)

// CascadeFate is what becomes of an object.
type CascadeFate string

const (
	// FateDeleted: it goes, with nothing in the way.
	FateDeleted CascadeFate = "deleted"
	// FateHeld: it is marked for deletion, and goes when the finalizers in
	// HeldBy have been removed by whoever serves them.
	FateHeld CascadeFate = "held"
	// FateBehind: it goes only after those in Behind, which are held.
	FateBehind CascadeFate = "behind"
	// FateSurvives: it stays, and loses the references in Dropped.
	FateSurvives CascadeFate = "survives"
	// FateOrphaned: it stays, and nobody owns it any more.
	FateOrphaned CascadeFate = "orphaned"
	// FateStuck: GC cannot decide and tries for ever; the object stays.
	FateStuck CascadeFate = "stuck"
	// FateUnknown: it depends on an owner that could not be read here.
	FateUnknown CascadeFate = "unknown"
)

// Cascade is what a deletion does, by the garbage collector's own rules.
type Cascade struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Context    string        `json:"context"`
	Policy     CascadePolicy `json:"policy"`
	Targets    []state.Ref   `json:"targets"`
	// Complete is false where Gaps hide something that may be concerned.
	Complete bool `json:"complete"`
	// Objects are those that the deletion touches, in the order of Step.
	Objects []CascadeObject `json:"objects"`
	// Absent are the references to owners that GC takes for absent, and those
	// it cannot resolve, on the objects above.
	Absent []CascadeReference `json:"absent,omitempty"`
	// Notes say what other than GC will act.
	Notes []string  `json:"notes,omitempty"`
	Gaps  []ReadGap `json:"gaps,omitempty"`
	Cost  ReadCost  `json:"cost"`
}

// CascadeObject is one object that a deletion touches.
type CascadeObject struct {
	Object OwnedObject `json:"object"`
	Fate   CascadeFate `json:"fate"`
	// Step orders what goes: objects of one step go in any order. Zero for what
	// stays.
	Step int `json:"step,omitempty"`
	// Policy is how the deletion of this one is carried out.
	Policy CascadePolicy `json:"policy,omitempty"`
	// Why is one sentence for people.
	Why string `json:"why"`
	// KeptBy are the owners that keep it.
	KeptBy []OwnerRef `json:"keptBy,omitempty"`
	// Dropped are the references that GC removes from it.
	Dropped []OwnerRef         `json:"dropped,omitempty"`
	HeldBy  []CascadeFinalizer `json:"heldBy,omitempty"`
	Behind  []state.Ref        `json:"behind,omitempty"`
}

// CascadeFinalizer is a finalizer that holds an object.
type CascadeFinalizer struct {
	Name string `json:"name"`
	// ServedBy is who of Kubernetes removes it, and when; empty where nobody
	// there does.
	ServedBy string `json:"servedBy,omitempty"`
	// SetBy is the field manager that set it, where the object says so.
	SetBy string `json:"setBy,omitempty"`
}

// CascadeReference is an owner reference that GC does not follow.
type CascadeReference struct {
	Dependent state.Ref    `json:"dependent"`
	Owner     OwnerRef     `json:"owner"`
	Verdict   OwnerVerdict `json:"verdict"`
	Why       string       `json:"why"`
}
