package tui

import (
	"context"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Journal is where snapshots come from: a hub, or the player of a recording.
type Journal interface {
	// Next waits for a snapshot other than last, which may be nil. A player that
	// was moved back gives an earlier one.
	Next(ctx context.Context, last *state.Snapshot) (*state.Snapshot, error)
}

// Loops are the control loops of this process. Each method returns without
// waiting for a loop; what it did is told by the journal.
type Loops interface {
	// Start starts a loop that is off; it checks rights first.
	Start(ctx context.Context, controller string) error
	Pause(controller string) error
	Resume(controller string) error
	Paused(controller string) bool
	// Step lets one key of a paused controller through.
	Step(controller, queue, key string) error
	RetryNow(controller, queue, key string) error
	Drop(controller, queue, key string) error
	// Break pauses a controller when a key matches, or before a write.
	Break(Breakpoint) error
	// Breakpoints lists those in force; Unbreak removes one by its number.
	Breakpoints() []Breakpoint
	Unbreak(number int) error
}

// Breakpoint makes a controller stop by itself.
type Breakpoint struct {
	Number     int
	Controller string
	// Key is a pattern as of path.Match, on the queue key; empty for any.
	Key string
	// BeforeWrite stops it when it is about to write; otherwise it stops when a
	// worker asks for the key.
	BeforeWrite bool
	// Held says what it holds now; empty where it holds nothing.
	Held string
}

// Caches are the informers that the screen may look into.
type Caches interface {
	// Open makes sure that an informer of the type runs: "pods",
	// "deployments.apps". What it holds and how it is, the journal tells.
	Open(ctx context.Context, typ string) error
	// Release says that the screen does not show the type any more.
	Release(typ string)
	// Stores are all informers, with the facts that the journal does not have.
	Stores() []state.StoreStats
	// Rows gives what the cache holds of these objects, in their order; it is
	// asked for those on the screen only. An object that is not held has no name.
	Rows(typ string, refs []state.Ref) []CacheRow
	// Object is the whole object as the cache holds it, redacted; nil where it
	// does not hold it, or holds metadata only.
	Object(typ string, ref state.Ref) map[string]any
	// Live asks the server for it.
	Live(ctx context.Context, typ string, ref state.Ref) (map[string]any, error)
	// Fields tells who owns each field, as managedFields have it.
	Fields(ctx context.Context, typ string, ref state.Ref) ([]FieldOwner, error)
	// Types are the types that can be opened, for completion.
	Types(ctx context.Context) ([]string, error)
}

// CacheRow is an object of a cache in a line.
type CacheRow struct {
	Ref        state.Ref
	Version    string // resourceVersion
	Created    time.Time
	Deleting   time.Time
	Labels     map[string]string
	Finalizers []string
	Owner      *state.OwnerRef
	Status     *state.ObjectStatus
}

// FieldOwner says which manager owns a field.
type FieldOwner struct {
	Path, Manager, Operation, Subresource string
	At                                    time.Time
}

// Owners read the graph of ownerReferences.
type Owners interface {
	// Tree gives the tree in which the object stands: its owners above, what it
	// owns below.
	Tree(ctx context.Context, object state.Ref) (state.OwnerTree, error)
	// Roots gives the trees of a namespace; all of them where it is empty.
	Roots(ctx context.Context, namespace string) (state.OwnerTree, error)
	Cascade(ctx context.Context, object state.Ref, policy state.CascadePolicy) (state.Cascade, error)
}

// Revisions read the histories of pod templates.
type Revisions interface {
	// List gives what has a history: Deployments, StatefulSets, DaemonSets.
	List(ctx context.Context) ([]state.RevisionList, error)
	// Of reads one history whole.
	Of(ctx context.Context, object state.Ref) (state.RevisionList, error)
	Diff(ctx context.Context, object state.Ref, from, to string) (state.RevisionDiff, error)
	Undo(ctx context.Context, object state.Ref, to int64) (state.RevisionUndo, error)
}

// Leases follow the leases of a cluster.
type Leases interface {
	// Next waits for a list other than the last one that it gave; holders are
	// resolved. Its errors leave gaps: the next call tries again.
	Next(ctx context.Context, after int) (list state.LeaseList, number int, err error)
}

// Connection tells how long the server has not answered.
type Connection interface {
	// Lost is when the API server answered last, and why it does not any more;
	// the zero time while it answers.
	Lost() (since time.Time, reason string)
}

// Recorder writes the journal to a file.
type Recorder interface {
	// Start begins a recording, or ends the one under way, and says in a
	// sentence what it did.
	Toggle() (said string, err error)
	// File is what is being written; empty where nothing is.
	File() string
}

// Player moves through a recording.
type Player interface {
	Range() (from, to time.Time)
	Position() time.Time
	Playing() bool
	Speed() float64
	SetPlaying(bool)
	SetSpeed(float64)
	Seek(time.Time)
	// Step moves by entries, back where it is negative.
	Step(entries int)
	// SeekError moves to the next failed sync or write, or with back to the one
	// before; false where there is none.
	SeekError(back bool) bool
}
