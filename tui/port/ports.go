// Package port declares what the terminal UI needs of a session beyond its journal:
// small interfaces, with the data that they pass. Who shows a session implements
// them; one that is nil switches off the keys that need it.
//
// Ports command and ask. What happens is recorded in the journal, never reported by
// a port.
package port

import (
	"context"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
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
	Starter
	Pauser
	KeyHandler
	Breaker
}

// Starter starts a loop that is off; it checks rights first.
type Starter interface {
	Start(ctx context.Context, controller string) error
}

// Pauser stops the workers of a loop, and lets them go on.
type Pauser interface {
	Pause(controller string) error
	// Resume lets go what breakpoints hold, too.
	Resume(controller string) error
}

// KeyHandler acts on one key of a queue.
type KeyHandler interface {
	// Step lets one key of a paused controller through, or one write that a
	// breakpoint holds of it; a write that is made for no key has an empty one.
	Step(controller, queue, key string) error
	RetryNow(controller, queue, key string) error
	Drop(controller, queue, key string) error
}

// Breaker sets and removes breakpoints.
type Breaker interface {
	// Break pauses a controller when a key matches, or before a write.
	Break(Breakpoint) error
	// Unbreak removes one by its number; what it holds stays held.
	Unbreak(number int) error
}

// Breakpoint makes a controller stop by itself.
type Breakpoint struct {
	Controller string
	// Key is a pattern as of path.Match, on the queue key; empty for any.
	Key string
	// BeforeWrite stops it when it is about to write; otherwise it stops when a
	// worker asks for the key.
	BeforeWrite bool
}

// Approvals answers for the writes that wait before they leave; which they are is
// told by the journal, as what came of an answer.
type Approvals interface {
	Answer(id int, answer state.Answer) error
	// Withdraw takes back all answers for more than one write.
	Withdraw() error
	SetBrake(on bool) error
}

// Command is a program of the user's own that runs behind the screen.
type Command interface {
	// Ended is closed when it has ended; How says how, after that: "has ended with
	// exit code 1".
	Ended() <-chan struct{}
	How() (text string, failed bool)
	// Output is where its output goes, and the last lines of that. It takes as long
	// as reading them from a file does.
	Output(most int) (file string, lines []string, err error)
}

// Caches are the informers that the screen may look into: those of the loops where
// they run, and others that it opens for itself.
type Caches interface {
	CacheOpener
	StoreLister
	ObjectReader
}

// CacheOpener opens caches by their type.
type CacheOpener interface {
	// Open gives the cache of a type, "pods" or "deployments.apps", in the words of
	// kubectl. It starts an informer where none is. Close must be called.
	Open(ctx context.Context, typ string) (Cache, error)
	// Types are those that can be opened, for completion.
	Types(ctx context.Context) ([]string, error)
}

// StoreLister tells of the informers.
type StoreLister interface {
	// Stores are all informers, with the facts that the journal does not have.
	Stores() []state.StoreStats
	// Behind asks the server for the version of a type, and gives the cache some
	// time to reach it.
	Behind(ctx context.Context, typ string) (state.ServerView, error)
}

// ObjectReader reads one object.
type ObjectReader interface {
	// Object is a whole object as a cache holds it, redacted; nil where none holds
	// it, or metadata only.
	Object(ref state.Ref) map[string]any
	// Live asks the server for an object; it is redacted.
	Live(ctx context.Context, ref state.Ref) (map[string]any, error)
}

// Cache is what one informer holds. Its methods may take a while where there are
// many objects: the screen calls them in commands.
type Cache interface {
	CacheStats
	CacheRows
	CacheObjects
	Close()
}

// CacheStats says how a cache is.
type CacheStats interface {
	Stats() state.StoreStats
	// Edition changes whenever a window may have changed.
	Edition() uint64
}

// CacheRows are the objects of a cache as rows.
type CacheRows interface {
	// Window gives at most n rows of what the query chooses, from an offset on. The
	// error is of the query.
	Window(q CacheQuery, offset, n int) (CacheWindow, error)
	// Find is the place of an object among what the query chooses.
	Find(q CacheQuery, namespace, name string) (int, bool)
}

// CacheObjects are the objects of a cache one by one.
type CacheObjects interface {
	Object(namespace, name string) (CacheObject, bool)
	// Compare asks the server for the object too.
	Compare(ctx context.Context, namespace, name string) (CacheComparison, error)
}

// FieldAsker is a Cache that keeps no managers of fields, and asks the server for
// those of one object.
type FieldAsker interface {
	Fields(ctx context.Context, namespace, name string) ([]FieldOwner, error)
}

// CacheQuery chooses and sorts the rows of a cache.
type CacheQuery struct {
	// Text is looked for in "namespace/name": as text, as a regular expression, or
	// fuzzily. Invert keeps what does not match. Labels is a selector.
	Text                  string
	Regexp, Fuzzy, Invert bool
	Labels                string
	// Sort is "namespace", which is the zero value too, "name", "age",
	// "resourceVersion" or "changed".
	Sort       string
	Descending bool
}

// CacheWindow is a part of a cache.
type CacheWindow struct {
	Rows []CacheRow
	// Offset is the place of the first row, Total the number of rows that the query
	// chooses.
	Offset, Total int
	// Built: each object has been looked at; until then Seen of Objects have.
	Built         bool
	Seen, Objects int
	// Synced: the first list is complete. Until then Expected is how many objects
	// there will be, where the server told.
	Synced   bool
	Expected int
}

// CacheRow is an object of a cache in a line.
type CacheRow struct {
	state.Ref
	ResourceVersion            string
	Labels                     map[string]string
	Created, Changed, Deleting time.Time
	Finalizers                 int
	Owner                      *state.Ref
	Status                     *document.ObjectStatus
}

// CacheObject is one object of a cache.
type CacheObject struct {
	CacheRow
	// Content is what the cache holds, redacted and without managedFields.
	Content map[string]any
	Fields  []FieldOwner
}

// CacheComparison is an object of a cache beside the server's.
type CacheComparison struct {
	state.ServerView
	// Held tells whether the cache has it, Live whether the server has.
	Held, Live bool
	// Changes lead from the cache's to the server's.
	Changes []state.FieldChange
}

// FieldOwner says which manager wrote a field last.
type FieldOwner struct {
	Path, Manager, Operation, Subresource string
	At                                    time.Time
}

// Owners read the graph of ownerReferences.
type Owners interface {
	// Tree gives the tree in which the object stands: its owners above, what it
	// owns below.
	Tree(ctx context.Context, object state.Ref) (document.OwnerTree, error)
	// Roots gives the trees of a namespace; all of them where it is empty.
	Roots(ctx context.Context, namespace string) (document.OwnerTree, error)
	Cascade(ctx context.Context, object state.Ref, policy document.CascadePolicy) (document.Cascade, error)
}

// Revisions read the histories of pod templates.
type Revisions interface {
	// List gives what has a history: Deployments, StatefulSets, DaemonSets. An
	// error beside histories says what is missing from them.
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

// Active takes loops of this process from a dry run to writing to a cluster for real,
// under an election, and back. The journal tells how the process stands.
type Active interface {
	// Prepare asks the cluster, without writing, what it would mean to have these
	// controllers write for real; where none are named, those that run. Its error
	// refuses it, and says what to do.
	Prepare(ctx context.Context, controllers []string) (ActivePlan, error)
	// Begin checks once more and stands for election, if typed is the name of the
	// plan's context. It does not wait until the process leads.
	Begin(ctx context.Context, plan ActivePlan, typed string) error
	// End stops the loops, waits for their writes, gives the lease back, and
	// returns when the process observes again.
	End(ctx context.Context) error
}

// ActivePlan is what becoming active would mean.
type ActivePlan struct {
	Context, Server, Version string
	// Lease is "namespace/name". Holder has it, since when, as the lease says; nobody
	// where it is empty.
	Lease, Holder    string
	Since, RenewTime time.Time
	// Controllers would write; Off were named and cannot run, each with the reason.
	Controllers, Off []string
	// Asks: their writes need a yes, or a policy's. NoWait: a live holder ends it.
	Asks, NoWait bool
}

// Connection tells how long the server has not answered.
type Connection interface {
	// Lost is when the API server answered last, and why it does not any more;
	// the zero time while it answers.
	Lost() (since time.Time, reason string)
	// Failing names the types whose watches the API server ends at once.
	Failing() []string
}

// Recorder writes the journal to a file.
type Recorder interface {
	// Start begins a recording, or ends the one under way, and says in a
	// sentence what it did.
	Toggle() (said string, err error)
	// File is what is being written; empty where nothing is.
	File() string
}

// Player moves through a recording. What moves it may take some tens of
// milliseconds: the screen does so in commands.
type Player interface {
	PlayerPosition
	PlayerSpeed
	PlayerSeeker
	// Remarks say what is to be known of the recording; empty where nothing is.
	Remarks() string
}

// PlayerPosition says where a recording stands.
type PlayerPosition interface {
	Range() (from, to time.Time)
	Position() time.Time
}

// PlayerSpeed says and sets how a recording is played.
type PlayerSpeed interface {
	Playing() bool
	Speed() float64
	SetPlaying(bool) error
	SetSpeed(float64)
}

// PlayerSeeker moves to other moments of a recording.
type PlayerSeeker interface {
	Seek(time.Time) error
	// Step moves by entries, back where it is negative.
	Step(entries int) error
	// SeekError moves to the next failed sync or write, or with back to the one
	// before; false where there is none.
	SeekError(back bool) (bool, error)
}
