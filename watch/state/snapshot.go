package state

import (
	"iter"
	"strings"
	"time"
)

// Snapshot is the picture that a journal adds up to at one entry. It is
// immutable: Fold makes a new one, which shares what did not change. Any number
// of goroutines may read it; nobody may modify what it points to.
//
// Its memory is bounded by its Limits, and Bounds tells what each has cost.
type Snapshot struct {
	// Seq and At are those of the last entry; Entries counts all of them.
	Seq     uint64    `json:"seq"`
	At      time.Time `json:"at,omitzero"`
	Entries uint64    `json:"entries"`
	// Lost counts the holes in the numbering that no Dropped entry explains.
	Lost uint64 `json:"lost,omitempty"`

	// Session is the zero value until the journal tells; Started is its time.
	Session SessionStarted `json:"session"`
	Started time.Time      `json:"started,omitzero"`

	// Election is nil where this process takes no part in one.
	Election *Election `json:"election,omitempty"`

	// Controls is what is held back: pauses, breakpoints, pending approvals.
	Controls Controls `json:"controls"`

	// Controllers is by name: the loops, and the other writers of WriteFinished.
	Controllers Table[*Controller] `json:"controllers"`
	// Queues is by QueueID, Keys by KeyID.
	Queues Table[*Queue] `json:"queues"`
	// Keys holds those that are ready, waiting or processing.
	Keys Table[*Key] `json:"keys"`
	// Done holds the keys that left Keys last, by KeyID.
	Done Table[*Key] `json:"done"`
	// Syncs and Writes hold the latest of each, whole.
	Syncs  Ring[*Sync]  `json:"syncs"`
	Writes Ring[*Write] `json:"writes"`

	// Informers is by the type watched, Objects by ObjectID, Leases by the
	// ObjectID of the lease.
	Informers Table[*Informer] `json:"informers"`
	Objects   Table[*Object]   `json:"objects"`
	Leases    Table[*Lease]    `json:"leases"`

	// Notes holds the latest Note and Gap entries, as they were recorded.
	Notes Ring[Entry] `json:"notes"`
	// Recent holds the latest entries, from which Link makes cause and effect:
	// all but the deliveries of a first list or a periodic resync, and leases
	// renewed by the same holder, each of which would crowd out the rest.
	Recent Ring[Entry] `json:"-"`
	// Dropped sums up Dropped events by the bound that they name.
	Dropped Table[uint64] `json:"-"`
	// Unknown counts entries that this program cannot read, by their type.
	Unknown Table[uint64] `json:"-"`

	Limits Limits `json:"limits"`

	// stalled has the queues whose Stalled is set, by QueueID.
	stalled Table[*QueueStalled]
	// owned holds an entry per owner UID and object.
	owned Table[struct{}]
	// order has the Done keys, the one that left first at the front.
	order Ring[string]
}

// Limits bound a Snapshot's memory, in items. A field that is zero or less
// takes the value of DefaultLimits.
type Limits struct {
	Controllers int `json:"controllers"`
	Queues      int `json:"queues"`
	Keys        int `json:"keys"`
	Done        int `json:"done"`
	Syncs       int `json:"syncs"`
	Writes      int `json:"writes"`
	Informers   int `json:"informers"`
	Objects     int `json:"objects"`
	Leases      int `json:"leases"`
	Notes       int `json:"notes"`
	Recent      int `json:"recent"`
	// Breakpoints bounds the breakpoints, Holds what they hold; Questions bounds the
	// writes that wait for an approval, Approvals the answers for more than one.
	Breakpoints int `json:"breakpoints"`
	Holds       int `json:"holds"`
	Questions   int `json:"questions"`
	Approvals   int `json:"approvals"`
	// Attempts is per key.
	Attempts int `json:"attempts"`
	// Text is the longest text kept of one error, message or note, in bytes,
	// and Changes the most field changes kept of one write.
	Text    int `json:"text"`
	Changes int `json:"changes"`
}

// DefaultLimits suit a cluster of 150,000 pods.
func DefaultLimits() Limits {
	return Limits{
		Controllers: 500, Queues: 1000, Keys: 100_000, Done: 10_000, Syncs: 2000, Writes: 2000,
		Informers: 2000, Objects: 500_000, Leases: 10_000, Notes: 1000, Recent: 10_000,
		Breakpoints: 1000, Holds: 1000, Questions: 5000, Approvals: 1000,
		Attempts: 10, Text: 4096, Changes: 200,
	}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	for _, f := range []struct {
		have *int
		want int
	}{
		{&l.Controllers, d.Controllers}, {&l.Queues, d.Queues}, {&l.Keys, d.Keys}, {&l.Done, d.Done},
		{&l.Syncs, d.Syncs}, {&l.Writes, d.Writes}, {&l.Informers, d.Informers}, {&l.Objects, d.Objects},
		{&l.Leases, d.Leases}, {&l.Notes, d.Notes}, {&l.Recent, d.Recent},
		{&l.Breakpoints, d.Breakpoints}, {&l.Holds, d.Holds}, {&l.Questions, d.Questions}, {&l.Approvals, d.Approvals},
		{&l.Attempts, d.Attempts}, {&l.Text, d.Text}, {&l.Changes, d.Changes},
	} {
		if *f.have <= 0 {
			*f.have = f.want
		}
	}
	return l
}

// NewSnapshot is the picture before the first entry.
func NewSnapshot(l Limits) *Snapshot { return &Snapshot{Limits: l.orDefault()} }

// Bound is one limit of a snapshot and what it has cost.
type Bound struct {
	Name  string `json:"name"`
	Limit int    `json:"limit"`
	Used  int    `json:"used"`
	// Dropped counts what is not in the snapshot because of the limit.
	Dropped uint64 `json:"dropped"`
	// History: the oldest makes room, which is the ordinary course of things.
	// Otherwise the newest is refused, and the picture has a hole.
	History bool `json:"history"`
}

// Bounds lists every limit, in a fixed order.
func (s *Snapshot) Bounds() []Bound {
	l, c := s.Limits, s.Controls
	return []Bound{
		{"controllers", l.Controllers, s.Controllers.Len(), s.Controllers.refused, false},
		{"queues", l.Queues, s.Queues.Len(), s.Queues.refused, false},
		{"keys", l.Keys, s.Keys.Len(), s.Keys.refused, false},
		{"done keys", l.Done, s.Done.Len(), s.order.evicted, true},
		{"syncs", l.Syncs, s.Syncs.Len(), s.Syncs.evicted, true},
		{"writes", l.Writes, s.Writes.Len(), s.Writes.evicted, true},
		{"informers", l.Informers, s.Informers.Len(), s.Informers.refused, false},
		{"objects", l.Objects, s.Objects.Len(), s.Objects.refused, false},
		{"leases", l.Leases, s.Leases.Len(), s.Leases.refused, false},
		{"notes", l.Notes, s.Notes.Len(), s.Notes.evicted, true},
		{"recent entries", l.Recent, s.Recent.Len(), s.Recent.evicted, true},
		{"sources of drops", maxNames, s.Dropped.Len(), s.Dropped.refused, false},
		{"unknown types", maxNames, s.Unknown.Len(), s.Unknown.refused, false},
		{"pauses", l.Controllers, c.Pauses.Len(), c.Pauses.refused, false},
		{"breakpoints", l.Breakpoints, c.Breakpoints.Len(), c.Breakpoints.refused, false},
		{"holds at breakpoints", l.Holds, c.Holds.Len(), c.Holds.refused, false},
		{"pending approvals", l.Questions, c.Questions.Len(), c.Questions.refused, false},
		{"approvals", l.Approvals, c.Approvals.Len(), c.Approvals.refused, false},
	}
}

// maxNames bounds the tables whose keys are names of this program's own.
const maxNames = 100

const sep = "\x00"

// QueueID is the key of a queue in Snapshot.Queues.
func QueueID(controller, queue string) string { return controller + sep + queue }

// KeyID is the key of a queue key in Snapshot.Keys and Done.
func KeyID(controller, queue, key string) string { return controller + sep + queue + sep + key }

// ObjectID is the key of an object in Snapshot.Objects and Leases: objects of
// one type stand together, by namespace and name.
func ObjectID(r Ref) string {
	return r.Type() + sep + r.Namespace + sep + r.Name
}

// Controller gives one loop or writer by name, or nil.
func (s *Snapshot) Controller(name string) *Controller {
	c, _ := s.Controllers.Get(name)
	return c
}

// Key gives a key whether it is live or done, or nil where neither is known.
func (s *Snapshot) Key(controller, queue, key string) *Key {
	id := KeyID(controller, queue, key)
	if k, ok := s.Keys.Get(id); ok {
		return k
	}
	k, _ := s.Done.Get(id)
	return k
}

// KeysOf gives the live keys of a controller's queue, or of all its queues
// where queue is empty.
func (s *Snapshot) KeysOf(controller, queue string) iter.Seq[*Key] {
	prefix := controller + sep
	if queue != "" {
		prefix += queue + sep
	}
	return values(s.Keys.Prefix(prefix))
}

// QueuesOf gives the queues of a controller.
func (s *Snapshot) QueuesOf(controller string) iter.Seq[*Queue] {
	return values(s.Queues.Prefix(controller + sep))
}

// Stalled gives the queues in which a key is ready while workers are idle.
func (s *Snapshot) Stalled() iter.Seq[*QueueStalled] { return values(s.stalled.All()) }

// Object gives an object of the index by its type, namespace and name, or nil.
func (s *Snapshot) Object(r Ref) *Object {
	o, _ := s.Objects.Get(ObjectID(r))
	return o
}

// ObjectsOf gives the objects of one type, "deployments.apps".
func (s *Snapshot) ObjectsOf(typ string) iter.Seq[*Object] {
	return values(s.Objects.Prefix(typ + sep))
}

// OwnedBy gives the objects whose managing owner has this UID, by type and name.
func (s *Snapshot) OwnedBy(uid string) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		if uid == "" {
			return
		}
		for id := range s.owned.Prefix(uid + sep) {
			if o, ok := s.Objects.Get(strings.TrimPrefix(id, uid+sep)); ok && !yield(o) {
				return
			}
		}
	}
}

func values[V any](rows iter.Seq2[string, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range rows {
			if !yield(v) {
				return
			}
		}
	}
}
