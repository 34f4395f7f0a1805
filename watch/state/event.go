package state

import (
	"fmt"
	"time"
)

// Event is one fact observed. The set is closed: every event is declared in
// this package and listed in eventTypes (encode.go).
type Event interface {
	// EventType is the word that names the event in a recording.
	EventType() string
}

// Recorder takes events. Record must not block and must not keep the caller
// waiting for other recorders: it is called on the goroutines of informers,
// workers and HTTP clients.
type Recorder interface {
	Record(Event)
}

// RecorderFunc is a function as a Recorder.
type RecorderFunc func(Event)

// Record calls f.
func (f RecorderFunc) Record(e Event) { f(e) }

// Entry is an event with its place in the journal. Seq rises by one from 1 in
// a journal; a hole in it is a loss.
type Entry struct {
	Seq   uint64
	At    time.Time
	Event Event
}

// Mode says what becomes of a write.
type Mode string

const (
	// ModeReadOnly refuses every write.
	ModeReadOnly Mode = "read-only"
	// ModeDryRunClient answers every write inside this process.
	ModeDryRunClient Mode = "dry-run=client"
	// ModeDryRunServer sends every write with dryRun=All.
	ModeDryRunServer Mode = "dry-run=server"
	// ModeActive sends every write as it is.
	ModeActive Mode = "active"
)

// SessionStarted is the first event of every journal.
type SessionStarted struct {
	// Version is kctl-ctrl's own.
	Version string `json:"version"`
	// Kubernetes is the release the embedded loops were built from.
	Kubernetes string `json:"kubernetes"`
	// Server is the API server's version, or empty.
	Server string `json:"server,omitempty"`
	// Context is the kubeconfig's context name; "sandbox" on the embedded one.
	Context   string `json:"context,omitempty"`
	Mode      Mode   `json:"mode"`
	Sandbox   bool   `json:"sandbox,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Elected: the mode is to be active, and is not before this process is elected.
	Elected bool `json:"elected,omitempty"`
}

// ControllerStatus is the life of one loop in this process.
type ControllerStatus string

const (
	ControllerOff      ControllerStatus = "off"
	ControllerStarting ControllerStatus = "starting"
	ControllerRunning  ControllerStatus = "running"
	ControllerStopped  ControllerStatus = "stopped"
	ControllerFailed   ControllerStatus = "failed"
)

// ControllerChanged says that a loop changed its status.
type ControllerChanged struct {
	Controller string           `json:"controller"`
	Status     ControllerStatus `json:"status"`
	// Reason is a sentence for off, failed and stopped.
	Reason  string   `json:"reason,omitempty"`
	Queues  []string `json:"queues,omitempty"`
	Workers int      `json:"workers,omitempty"`
	// Keys says what the keys of its queues stand for; it is said once, when the
	// controller is starting.
	Keys []QueueKeys `json:"keys,omitempty"`
}

// InformerStatus is what an informer's reflector is doing.
type InformerStatus string

const (
	InformerListing  InformerStatus = "listing"
	InformerSynced   InformerStatus = "synced"
	InformerRelisted InformerStatus = "relisted"
	InformerFailed   InformerStatus = "failed"
	InformerStopped  InformerStatus = "stopped"
)

// InformerChanged says that an informer changed its status.
type InformerChanged struct {
	// Informer is the type it watches, "deployments.apps".
	Informer string         `json:"informer"`
	Status   InformerStatus `json:"status"`
	Objects  int            `json:"objects,omitempty"`
	// ResourceVersion is the store's, as the reflector reports it.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Reason          string `json:"reason,omitempty"`
}

// Change is what happened to an object in an informer's cache.
type Change string

const (
	ChangeAdded   Change = "added"
	ChangeUpdated Change = "updated"
	ChangeDeleted Change = "deleted"
	// ChangeListed is an object delivered by an informer's first list: it was
	// there before the watch began.
	ChangeListed Change = "listed"
	// ChangeResync is a periodic re-delivery: nothing changed.
	ChangeResync Change = "resync"
)

// ObjectChanged is one delta of an informer, recorded once however many
// handlers it is delivered to.
type ObjectChanged struct {
	Informer string `json:"informer"`
	Change   Change `json:"change"`
	Object   Ref    `json:"object"`
	// OldRV and NewRV are resourceVersions; OldRV is empty for an addition.
	OldRV string `json:"oldRV,omitempty"`
	NewRV string `json:"newRV,omitempty"`
	// Owner is the managing owner (controller: true), where there is one.
	Owner *Ref `json:"owner,omitempty"`
}

// CauseKind says what stands behind a queue addition or a write.
type CauseKind string

const (
	// CauseEvent: an informer's notification; Object, Change and the two
	// resourceVersions are set.
	CauseEvent CauseKind = "event"
	// CauseSync: a running sync; Controller, Queue, Key and Sync are set.
	CauseSync CauseKind = "sync"
	// CauseTimer: a ticker or timer of the controller named, which works on
	// no key.
	CauseTimer CauseKind = "timer"
	// CauseUser: an action of the user of this program.
	CauseUser CauseKind = "user"
	// CauseUnknown: upstream left nothing to go by.
	CauseUnknown CauseKind = "unknown"
)

// Cause is why something happened. The zero Cause means nobody asked.
type Cause struct {
	Kind CauseKind `json:"kind,omitempty"`

	// Controller is set for every kind but unknown.
	Controller string `json:"controller,omitempty"`
	Queue      string `json:"queue,omitempty"`
	Key        string `json:"key,omitempty"`
	// Sync is the number of the sync; see KeyTaken.
	Sync uint64 `json:"sync,omitempty"`

	Object *Ref   `json:"object,omitempty"`
	Change Change `json:"change,omitempty"`
	OldRV  string `json:"oldRV,omitempty"`
	NewRV  string `json:"newRV,omitempty"`
}

// KeyAdded says that a key was put in a queue, at once or for later.
type KeyAdded struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
	// How is the method called: "Add", "AddAfter" or "AddRateLimited".
	How string `json:"how"`
	// Delay is what was asked for; Due is when the key becomes ready, the zero
	// time for at once. An earlier Due of the same key stays in force.
	Delay time.Duration `json:"delay,omitempty"`
	Due   time.Time     `json:"due,omitzero"`
	// Retries is the count of the rate limiter after an AddRateLimited.
	Retries int `json:"retries,omitempty"`
	// Merged: the key was already waiting to be taken, so the queue holds it
	// once. While it is being processed it is marked dirty and runs again.
	Merged bool  `json:"merged,omitempty"`
	Cause  Cause `json:"cause"`
}

// KeyReady says that a delayed key's time came.
type KeyReady struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
}

// KeyTaken says that a worker took a key: sync number Sync begins. Sync
// numbers are unique in a journal.
type KeyTaken struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
	Sync       uint64 `json:"sync"`
	// Waited is how long the key stood ready.
	Waited time.Duration `json:"waited"`
	// Cause is that of the addition which made the key ready first; Causes
	// counts all additions merged into this sync.
	Cause  Cause `json:"cause"`
	Causes int   `json:"causes,omitempty"`
}

// KeyFinished says that the worker gave the key back: the sync is over.
type KeyFinished struct {
	Controller string        `json:"controller"`
	Queue      string        `json:"queue"`
	Key        string        `json:"key"`
	Sync       uint64        `json:"sync"`
	Duration   time.Duration `json:"duration"`
	// Failed: the worker asked for a retry with back-off, or reported an
	// error. Error is its text as far as upstream let it be known.
	Failed bool   `json:"failed,omitempty"`
	Error  string `json:"error,omitempty"`
	// Writes counts the writes made by this sync.
	Writes int `json:"writes,omitempty"`
	// Dirty: the key was added again meanwhile and is ready at once.
	Dirty bool `json:"dirty,omitempty"`
}

// KeyForgotten says that the controller cleared the key's retry count. It is
// recorded only where there was one.
type KeyForgotten struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
	Retries    int    `json:"retries"`
}

// KeyDropped says that a key was taken out of its queue and will not be processed.
type KeyDropped struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
	// By is who dropped it: the user, or the stop of its controller. It is empty in
	// recordings of versions that did not tell.
	By Actor `json:"by,omitempty"`
}

// QueueStalled says that a key has been ready for a while although workers of its
// queue are idle. It is a defect of this program: what made the key ready woke
// nobody.
type QueueStalled struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	// Key is the one that became ready first, Since when; Key is empty where it
	// is not known which one it is, and Since is then when it was seen first.
	Key   string    `json:"key,omitempty"`
	Since time.Time `json:"since"`
	// Ready counts the keys that are ready, Idle the workers that wait for one.
	Ready int `json:"ready"`
	Idle  int `json:"idle"`
	// Resumed: the key was taken after all, or the queue was shut down.
	Resumed bool `json:"resumed,omitempty"`
}

// WriteResult says what became of a write.
type WriteResult string

const (
	// WriteDone: the server carried it out.
	WriteDone WriteResult = "done"
	// WriteDry: answered by the guard, or by the server with dryRun=All.
	WriteDry WriteResult = "dry"
	// WriteRefused: the guard did not let it out.
	WriteRefused WriteResult = "refused"
	// WriteFailed: the server, or the way there, answered with an error.
	WriteFailed WriteResult = "failed"
)

// WriteFinished is one mutating request and its answer.
type WriteFinished struct {
	// Write numbers the write; unique in a journal.
	Write uint64 `json:"write"`
	// Controller is the writer: a loop's name, or "kube-scheduler",
	// "simulated-nodes", "apply"….
	Controller string `json:"controller"`
	Cause      Cause  `json:"cause"`

	// Verb is the API's: create, update, patch, apply, delete,
	// deletecollection.
	Verb        string `json:"verb"`
	Object      Ref    `json:"object"`
	Subresource string `json:"subresource,omitempty"`

	Mode     Mode          `json:"mode"`
	Result   WriteResult   `json:"result"`
	Status   int           `json:"status,omitempty"`
	Message  string        `json:"message,omitempty"`
	Duration time.Duration `json:"duration"`

	// ResourceVersion is the one the server answered with; empty in dry runs.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Diff says which fields the request changes. Approximate marks a diff or
	// an answer made without the server's defaulting and admission.
	Diff        []FieldChange `json:"diff,omitempty"`
	Approximate bool          `json:"approximate,omitempty"`
	// Approval says by whom or what the write was let out, where writes have to
	// be: "the user", "rule 2 of the policy".
	Approval string `json:"approval,omitempty"`
	// Repeat counts identical dry-run writes of the same key before this one.
	Repeat int `json:"repeat,omitempty"`
	// Tells is what an Event says that is made or changed, where that is known; its
	// object is Cause.Object. It is nil for other writes.
	Tells *EventText `json:"tells,omitempty"`
}

// FieldChange is one leaf that differs. Old or New is empty where the field is
// absent there; both are compact JSON, redacted.
type FieldChange struct {
	// Path is "spec.template.spec.containers[name=web].image".
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// MoreChanges stands for n changes that a bound left out.
func MoreChanges(n int) FieldChange {
	return FieldChange{Path: fmt.Sprintf("…(+%d changes)", n)}
}

// LeaseChanged says that a lease or its holder changed.
type LeaseChanged struct {
	Lease       Ref       `json:"lease"`
	Holder      string    `json:"holder,omitempty"`
	RenewTime   time.Time `json:"renewTime,omitzero"`
	Duration    int32     `json:"leaseDurationSeconds,omitempty"`
	Transitions int32     `json:"leaseTransitions,omitempty"`
	Deleted     bool      `json:"deleted,omitempty"`
}

// ElectionPhase is a step of this process in the election for a lease.
type ElectionPhase string

const (
	// ElectionCandidate: it waits. Holder leads, or nobody does and it tries.
	ElectionCandidate ElectionPhase = "candidate"
	// ElectionAcquired: it leads from now on.
	ElectionAcquired ElectionPhase = "acquired"
	// ElectionRenewedLate: it still leads, and a renewal was missed; Gap tells
	// how long the lease went without one.
	ElectionRenewedLate ElectionPhase = "renewed late"
	// ElectionLost: it led and must not write any more.
	ElectionLost ElectionPhase = "lost"
	// ElectionReleased: it led, has stopped its loops and given the lease back.
	ElectionReleased ElectionPhase = "released"
	// ElectionWithdrawn: it waits no longer, and has never led.
	ElectionWithdrawn ElectionPhase = "withdrawn"
)

// ElectionChanged says how this process stands in the election for a lease.
type ElectionChanged struct {
	Lease Ref           `json:"lease"`
	Phase ElectionPhase `json:"phase"`
	// Identity is what this process holds the lease as.
	Identity string `json:"identity"`
	// Holder is who leads while this process waits or has lost, and Since since
	// when, both as the lease says; RenewTime is the holder's last renewal.
	Holder    string    `json:"holder,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	RenewTime time.Time `json:"renewTime,omitzero"`
	// Expired is when the lease ran out, where it had by the clock of this machine
	// when it was read. A candidate takes over once it has seen the lease unchanged
	// for Wait.
	Expired time.Time     `json:"expired,omitzero"`
	Wait    time.Duration `json:"wait,omitempty"`
	// Gap is the time between the last two renewals.
	Gap time.Duration `json:"gap,omitempty"`
	// Deadline is for how long after a renewal writes may leave, while it leads.
	Deadline time.Duration `json:"deadline,omitempty"`
	// Reason is a sentence for lost, and for a lease that was not released.
	Reason string `json:"reason,omitempty"`
}

// Gap says that events of an informer may be missing here: a relist, a lost
// watch. The state after it is right; the history is not complete.
type Gap struct {
	Informer string `json:"informer"`
	Reason   string `json:"reason"`
}

// Dropped counts entries that a bound kept out of the journal.
type Dropped struct {
	// Where names the bound, "hub".
	Where string `json:"where"`
	Count uint64 `json:"count"`
}

// Note is a sentence for the reader: a stage of the session, a warning of an
// embedded component.
type Note struct {
	// Source is who says it: a controller's name, "sandbox", "apply".
	Source string `json:"source"`
	Text   string `json:"text"`
	// Warning marks what the reader should not miss.
	Warning bool `json:"warning,omitempty"`
}

func (SessionStarted) EventType() string    { return "SessionStarted" }
func (ControllerChanged) EventType() string { return "ControllerChanged" }
func (InformerChanged) EventType() string   { return "InformerChanged" }
func (ObjectChanged) EventType() string     { return "ObjectChanged" }
func (KeyAdded) EventType() string          { return "KeyAdded" }
func (KeyReady) EventType() string          { return "KeyReady" }
func (KeyTaken) EventType() string          { return "KeyTaken" }
func (KeyFinished) EventType() string       { return "KeyFinished" }
func (KeyForgotten) EventType() string      { return "KeyForgotten" }
func (KeyDropped) EventType() string        { return "KeyDropped" }
func (QueueStalled) EventType() string      { return "QueueStalled" }
func (WriteFinished) EventType() string     { return "WriteFinished" }
func (LeaseChanged) EventType() string      { return "LeaseChanged" }
func (ElectionChanged) EventType() string   { return "ElectionChanged" }
func (Gap) EventType() string               { return "Gap" }
func (Dropped) EventType() string           { return "Dropped" }
func (Note) EventType() string              { return "Note" }
