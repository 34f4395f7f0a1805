package document

import (
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// OwnerTreeKind and CascadeKind are the kinds of the documents of the owner graph.
const (
	OwnerTreeKind = "OwnerTree"
	CascadeKind   = "Cascade"
)

// OwnedObject is an object's metadata as the garbage collector uses it.
type OwnedObject struct {
	state.Ref
	Kind    string    `json:"kind"`
	Created time.Time `json:"created,omitzero"`
	// Deleting is its deletionTimestamp, which is in the future during a grace period.
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
	// BlockOwnerDeletion makes a foreground deletion of the owner wait for the
	// dependent.
	BlockOwnerDeletion bool `json:"blockOwnerDeletion,omitempty"`
}

// OwnerVerdict is the garbage collector's decision about an owner reference, after
// looking up the owner by apiVersion, kind and name in the dependent's namespace.
type OwnerVerdict string

const (
	// OwnerPresent: the owner exists and keeps its dependent.
	OwnerPresent OwnerVerdict = "present"
	// OwnerWaiting: the owner is being deleted in the foreground and waits for its
	// dependents; it does not keep them.
	OwnerWaiting OwnerVerdict = "waiting"
	// OwnerAbsent: no object with that name and UID exists where GC looks. A dependent
	// whose owners are all absent is deleted.
	OwnerAbsent OwnerVerdict = "absent"
	// OwnerUnresolvable: the API server does not serve the kind now. GC retries
	// indefinitely and neither deletes nor changes the dependent.
	OwnerUnresolvable OwnerVerdict = "unresolvable"
	// OwnerInvalid: a cluster-scoped object names a namespaced owner. GC stops
	// processing the dependent.
	OwnerInvalid OwnerVerdict = "invalid"
	// OwnerUnknown: the owner could not be read here.
	OwnerUnknown OwnerVerdict = "unknown"
)

// OwnerEdge is an object's reference to the owner above it in a tree.
type OwnerEdge struct {
	Controller         bool         `json:"controller,omitempty"`
	BlockOwnerDeletion bool         `json:"blockOwnerDeletion,omitempty"`
	Verdict            OwnerVerdict `json:"verdict"`
	// Why is for people; empty if the owner is present.
	Why string `json:"why,omitempty"`
}

// OwnerNode is an object in a tree of owners.
type OwnerNode struct {
	Object OwnedObject `json:"object"`
	// Edge is nil for a root.
	Edge *OwnerEdge `json:"edge,omitempty"`
	// Status is nil if it was not read or the kind has none.
	Status *ObjectStatus `json:"status,omitempty"`
	// Target marks the requested object if its owners are shown above it.
	Target bool `json:"target,omitempty"`
	// Absent marks an owner that is known only from references to it.
	Absent bool `json:"absent,omitempty"`
	// Repeated: its dependents are shown at its first occurrence. Cycle: it is one of
	// its own owners, directly or indirectly, and is shown above, too.
	Repeated bool `json:"repeated,omitempty"`
	Cycle    bool `json:"cycle,omitempty"`
	// Hidden counts the direct dependents that the depth limit leaves out.
	Hidden     int          `json:"hidden,omitempty"`
	Dependents []*OwnerNode `json:"dependents,omitempty"`
}

// Walk calls visit for the node and all nodes below it, top down.
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

// ObjectStatus is an object's status in the terms of its kind.
type ObjectStatus struct {
	// Ready is "2/3", "True" or "False", or empty for kinds without readiness.
	Ready string `json:"ready,omitempty"`
	// State is a word: "Running", "CrashLoopBackOff", "Available".
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
	Health  Health `json:"health,omitempty"`
}

// ReadCost is the load that a result caused on the API server.
type ReadCost struct {
	Requests int64 `json:"requests"`
	// Bytes counts response bodies, uncompressed.
	Bytes int64 `json:"bytes"`
	// Types were listed, with Objects in them.
	Types    int           `json:"types"`
	Objects  int           `json:"objects"`
	Duration time.Duration `json:"-"`
}

// ReadGap is something that could not be read: the result is partial.
type ReadGap struct {
	// Type is "secrets" or "widgets.shop.example", or an API group with its version if
	// nothing in it could be discovered.
	Type      string `json:"type"`
	Namespace string `json:"namespace,omitempty"`
	// Name is set if a single object could not be read.
	Name string `json:"name,omitempty"`
	// Reason is "forbidden", "unavailable", "budget" or "failed".
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// OwnerTree is the result for one cluster.
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

// OwnerTreeList is the machine-readable output of `tree`.
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

// CascadeFate is what happens to an object.
type CascadeFate string

const (
	// FateDeleted: it is deleted; nothing blocks it.
	FateDeleted CascadeFate = "deleted"
	// FateHeld: it is marked for deletion, and deleted once the finalizers in HeldBy
	// are removed.
	FateHeld CascadeFate = "held"
	// FateBehind: it is deleted only after the objects in Behind, which are held.
	FateBehind CascadeFate = "behind"
	// FateSurvives: it remains and loses the references in Dropped.
	FateSurvives CascadeFate = "survives"
	// FateOrphaned: it remains without an owner.
	FateOrphaned CascadeFate = "orphaned"
	// FateStuck: GC cannot decide and retries indefinitely; the object remains.
	FateStuck CascadeFate = "stuck"
	// FateUnknown: it depends on an owner that could not be read here.
	FateUnknown CascadeFate = "unknown"
)

// Cascade is the effect of a deletion by the garbage collector's rules.
type Cascade struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Context    string        `json:"context"`
	Policy     CascadePolicy `json:"policy"`
	Targets    []state.Ref   `json:"targets"`
	// Complete is false if Gaps may hide affected objects.
	Complete bool `json:"complete"`
	// Objects are the affected objects, in the order of Step.
	Objects []CascadeObject `json:"objects"`
	// Absent are the references of these objects to owners that GC considers absent or
	// cannot resolve.
	Absent []CascadeReference `json:"absent,omitempty"`
	// Notes describe what controllers other than GC will do.
	Notes []string  `json:"notes,omitempty"`
	Gaps  []ReadGap `json:"gaps,omitempty"`
	Cost  ReadCost  `json:"cost"`
}

// CascadeObject is an object that a deletion affects.
type CascadeObject struct {
	Object OwnedObject `json:"object"`
	Fate   CascadeFate `json:"fate"`
	// Step orders deletions; the order within one step is undefined. Zero for objects
	// that remain.
	Step int `json:"step,omitempty"`
	// Policy is the propagation policy of this object's deletion.
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
	// ServedBy describes what removes it in Kubernetes, and when; empty if nothing
	// does.
	ServedBy string `json:"servedBy,omitempty"`
	// SetBy is the field manager that set it, if known.
	SetBy string `json:"setBy,omitempty"`
}

// CascadeReference is an owner reference that GC does not follow.
type CascadeReference struct {
	Dependent state.Ref    `json:"dependent"`
	Owner     OwnerRef     `json:"owner"`
	Verdict   OwnerVerdict `json:"verdict"`
	Why       string       `json:"why"`
}
