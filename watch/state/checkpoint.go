package state

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"
)

// Checkpoint is a piece of a Snapshot in a journal. A recording that was begun
// in the middle of a session opens with one Snapshot in such pieces: first a
// Head, then a row at a time, at last an End. Folded, they give that Snapshot
// again, whole: with what its keys do at the moment, its histograms, and what
// its bounds have cost. All of them bear the number and the time of the last
// entry that is in the Snapshot.
//
// One field is set. Rows stand in an order in which each finds what it refers to.
type Checkpoint struct {
	Head       *CheckpointHead       `json:"head,omitempty"`
	Controller *CheckpointController `json:"controller,omitempty"`
	Queue      *CheckpointQueue      `json:"queue,omitempty"`
	Informer   *Informer             `json:"informer,omitempty"`
	Key        *CheckpointKey        `json:"key,omitempty"`
	Object     *Object               `json:"object,omitempty"`
	Lease      *Lease                `json:"lease,omitempty"`
	Sync       *Sync                 `json:"sync,omitempty"`
	Write      *Write                `json:"write,omitempty"`
	Note       *Entry                `json:"note,omitempty"`
	Recent     *Entry                `json:"recent,omitempty"`
	End        *CheckpointEnd        `json:"end,omitempty"`
}

// EventType is the word in a recording.
func (Checkpoint) EventType() string { return "Checkpoint" }

// CheckpointHead begins a Snapshot: what was folded before it does not count.
type CheckpointHead struct {
	Seq     uint64         `json:"seq"`
	At      time.Time      `json:"at"`
	Entries uint64         `json:"entries"`
	Lost    uint64         `json:"lost,omitempty"`
	Session SessionStarted `json:"session"`
	Started time.Time      `json:"started,omitzero"`
	// Election is the Snapshot's.
	Election *Election `json:"election,omitempty"`
	// Dropped and Unknown are the Snapshot's sums.
	Dropped map[string]uint64 `json:"dropped,omitempty"`
	Unknown map[string]uint64 `json:"unknown,omitempty"`
}

// CheckpointEnd ends it. Where it is missing, the Snapshot is not complete.
type CheckpointEnd struct {
	// Rows is the number of pieces between Head and End.
	Rows int `json:"rows"`
	// Bounds has what each bound has cost, by the name in Snapshot.Bounds.
	Bounds map[string]uint64 `json:"bounds,omitempty"`
}

// CheckpointController is a Controller with its histograms. Now is left out:
// the keys tell.
type CheckpointController struct{ Controller }

// CheckpointQueue is a Queue with its histograms. Its Depths are left out.
type CheckpointQueue struct{ Queue }

// CheckpointKey is a Key, live or done, with what Fold remembers of it.
type CheckpointKey struct{ Key }

// Checkpoint gives the pieces of a Snapshot.
func (s *Snapshot) Checkpoint() iter.Seq[Checkpoint] {
	return func(yield func(Checkpoint) bool) {
		head := CheckpointHead{
			Seq: s.Seq, At: s.At.UTC(), Entries: s.Entries, Lost: s.Lost, Session: s.Session, Started: s.Started.UTC(), Election: s.Election,
			Dropped: sums(s.Dropped), Unknown: sums(s.Unknown),
		}
		if !yield(Checkpoint{Head: &head}) {
			return
		}
		rows := 0
		for row := range s.rows() {
			rows++
			if !yield(row) {
				return
			}
		}
		end := CheckpointEnd{Rows: rows}
		for _, b := range s.Bounds() {
			if b.Dropped > 0 {
				if end.Bounds == nil {
					end.Bounds = map[string]uint64{}
				}
				end.Bounds[b.Name] = b.Dropped
			}
		}
		yield(Checkpoint{End: &end})
	}
}

func sums(t Table[uint64]) map[string]uint64 {
	if t.Len() == 0 {
		return nil
	}
	return maps.Collect(t.All())
}

func (s *Snapshot) rows() iter.Seq[Checkpoint] {
	done := func(yield func(*Key) bool) {
		for id := range s.order.All() {
			if k, ok := s.Done.Get(id); ok && !yield(k) {
				return
			}
		}
	}
	key := func(k *Key) Checkpoint {
		row := CheckpointKey{*k}
		row.place = 0
		return Checkpoint{Key: &row}
	}
	return concat(
		pieces(values(s.Controllers.All()), func(c *Controller) Checkpoint {
			row := CheckpointController{*c}
			row.Now = Depths{}
			return Checkpoint{Controller: &row}
		}),
		pieces(values(s.Queues.All()), func(q *Queue) Checkpoint {
			row := CheckpointQueue{*q}
			row.Depths = Depths{}
			return Checkpoint{Queue: &row}
		}),
		pieces(values(s.Informers.All()), func(i *Informer) Checkpoint { return Checkpoint{Informer: i} }),
		pieces(done, key),
		pieces(values(s.Keys.All()), key),
		pieces(values(s.Objects.All()), func(o *Object) Checkpoint { return Checkpoint{Object: o} }),
		pieces(values(s.Leases.All()), func(l *Lease) Checkpoint { return Checkpoint{Lease: l} }),
		pieces(s.Syncs.All(), func(s *Sync) Checkpoint { return Checkpoint{Sync: s} }),
		pieces(s.Writes.All(), func(w *Write) Checkpoint { return Checkpoint{Write: w} }),
		pieces(s.Notes.All(), func(n Entry) Checkpoint { return Checkpoint{Note: &n} }),
		pieces(s.Recent.All(), func(e Entry) Checkpoint { return Checkpoint{Recent: &e} }),
	)
}

func pieces[V any](rows iter.Seq[V], piece func(V) Checkpoint) iter.Seq[Checkpoint] {
	return func(yield func(Checkpoint) bool) {
		for v := range rows {
			if !yield(piece(v)) {
				return
			}
		}
	}
}

func concat(parts ...iter.Seq[Checkpoint]) iter.Seq[Checkpoint] {
	return func(yield func(Checkpoint) bool) {
		for _, part := range parts {
			for c := range part {
				if !yield(c) {
					return
				}
			}
		}
	}
}

type controllerCheckpoint struct {
	Controller
	Durations *Histogram `json:"durations,omitempty"`
	Waits     *Histogram `json:"waits,omitempty"`
}

// MarshalJSON writes the histograms too.
func (c CheckpointController) MarshalJSON() ([]byte, error) {
	return marshal(controllerCheckpoint{c.Controller, c.Durations, c.Waits})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *CheckpointController) UnmarshalJSON(data []byte) error {
	var in controllerCheckpoint
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	c.Controller = in.Controller
	c.Controller.Durations, c.Controller.Waits = in.Durations, in.Waits
	return nil
}

type queueCheckpoint struct {
	Queue
	Durations *Histogram `json:"durations,omitempty"`
	Waits     *Histogram `json:"waits,omitempty"`
}

// MarshalJSON writes the histograms too.
func (q CheckpointQueue) MarshalJSON() ([]byte, error) {
	return marshal(queueCheckpoint{q.Queue, q.Durations, q.Waits})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (q *CheckpointQueue) UnmarshalJSON(data []byte) error {
	var in queueCheckpoint
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	q.Queue = in.Queue
	q.Queue.Durations, q.Queue.Waits = in.Durations, in.Waits
	return nil
}

type keyCheckpoint struct {
	Key
	Ready      bool      `json:"isReady,omitempty"`
	Processing bool      `json:"isProcessing,omitempty"`
	Dirty      bool      `json:"isDirty,omitempty"`
	Running    *KeyTaken `json:"running,omitempty"`
	Taken      time.Time `json:"taken,omitzero"`
	Delayed    *Cause    `json:"delayed,omitempty"`
	DelayedAt  time.Time `json:"delayedAt,omitzero"`
	Last       uint64    `json:"lastSync,omitempty"`
}

// MarshalJSON writes all of it.
func (k CheckpointKey) MarshalJSON() ([]byte, error) {
	out := keyCheckpoint{
		Key: k.Key, Ready: k.ready, Processing: k.processing, Dirty: k.dirty,
		Taken: k.taken.UTC(), DelayedAt: k.delayed.at.UTC(), Last: k.last,
	}
	if k.running != (KeyTaken{}) {
		out.Running = &k.running
	}
	if k.delayed.cause != (Cause{}) {
		out.Delayed = &k.delayed.cause
	}
	return marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (k *CheckpointKey) UnmarshalJSON(data []byte) error {
	var in keyCheckpoint
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	k.Key = in.Key
	k.ready, k.processing, k.dirty = in.Ready, in.Processing, in.Dirty
	k.taken, k.delayed.at, k.last = in.Taken, in.DelayedAt, in.Last
	if in.Running != nil {
		k.running = *in.Running
	}
	if in.Delayed != nil {
		k.delayed.cause = *in.Delayed
	}
	return nil
}

// checkpoint restores a piece of a Snapshot. A recording is not to be trusted:
// rows are held to the same limits as everything else, sums are made anew, and
// what a key cannot be at once is put right.
func (f *folder) checkpoint(e Checkpoint) {
	switch {
	case e.Head != nil:
		f.restart(*e.Head)
	case e.Controller != nil:
		f.restoreController(e.Controller.Controller)
	case e.Queue != nil:
		f.restoreQueue(e.Queue.Queue)
	case e.Informer != nil:
		row := *e.Informer
		i := f.informer(row.Name)
		row.Name, row.Objects = i.Name, i.Objects
		row.Reason, row.LastGap = f.kept(row.Reason), f.kept(row.LastGap)
		*i = row
	case e.Key != nil:
		f.restoreKey(e.Key.Key)
	case e.Object != nil:
		f.restoreObject(*e.Object)
	case e.Lease != nil:
		l := *e.Lease
		f.s.Leases.set(ObjectID(l.Lease), &l, f.s.Limits.Leases)
	case e.Sync != nil:
		f.s.Syncs.push(f.restoredSync(e.Sync), f.s.Limits.Syncs)
	case e.Write != nil:
		w := *e.Write
		w.Message, w.Diff = f.kept(w.Message), f.restoredChanges(w.Diff)
		f.s.Writes.push(&w, f.s.Limits.Writes)
	case e.Note != nil:
		switch n := e.Note.Event.(type) {
		case Note:
			n.Text = f.kept(n.Text)
			f.s.Notes.push(Entry{e.Note.Seq, e.Note.At, n}, f.s.Limits.Notes)
		case ElectionChanged:
			f.s.Notes.push(Entry{e.Note.Seq, e.Note.At, n.bounded(f.kept)}, f.s.Limits.Notes)
		case Gap:
			n.Reason = f.kept(n.Reason)
			f.s.Notes.push(Entry{e.Note.Seq, e.Note.At, n}, f.s.Limits.Notes)
		}
	case e.Recent != nil:
		f.recall(*e.Recent, f.kept, f.restoredChanges)
	case e.End != nil:
		f.restoreBounds(e.End.Bounds)
	}
}

func (f *folder) restart(h CheckpointHead) {
	*f = *newFolder(NewSnapshot(f.s.Limits))
	f.s.Seq, f.s.At, f.s.Entries, f.s.Lost = h.Seq, h.At, h.Entries, h.Lost
	f.s.Session, f.s.Started = h.Session, h.Started
	if h.Election != nil {
		f.s.Election = &Election{ElectionChanged: h.Election.bounded(f.kept), At: h.Election.At}
	}
	for name, n := range h.Dropped {
		f.s.Dropped.set(f.name(name), n, maxNames)
	}
	for name, n := range h.Unknown {
		f.s.Unknown.set(f.name(name), n, maxNames)
	}
}

// kept is text of a row, which is cut already where it was too long.
func (f *folder) kept(s string) string { return clip(s, f.s.Limits.Text+64) }

func (f *folder) restoreController(row Controller) {
	c := f.controller(row.Name)
	row.Name, row.Now = c.Name, c.Now
	row.Queues = slices.Clone(row.Queues[:min(len(row.Queues), f.s.Limits.Queues)])
	row.Reason, row.LastError, row.LastErrorKey = f.kept(row.Reason), f.kept(row.LastError), f.kept(row.LastErrorKey)
	row.Durations, row.Waits = row.Durations.clone(), row.Waits.clone()
	*c = row
}

func (f *folder) restoreQueue(row Queue) {
	q := f.queue(row.Controller, row.Name)
	row.Controller, row.Name, row.Depths = q.Controller, q.Name, q.Depths
	row.Durations, row.Waits = row.Durations.clone(), row.Waits.clone()
	*q = row
}

func (f *folder) restoreKey(row Key) {
	c, q := f.controller(row.Controller), f.queue(row.Controller, row.Queue)
	row.Controller, row.Queue, row.Key = c.Name, q.Name, f.name(row.Key)
	id := KeyID(row.Controller, row.Queue, row.Key)
	if old, known := f.s.Keys.Get(id); known {
		c.Now.add(old, -1)
		q.add(old, -1)
		f.s.Keys.delete(id)
	}
	if old, known := f.s.Done.Get(id); known {
		f.s.Done.delete(id)
		f.s.order.remove(old.place)
	}
	delete(f.keys, id)

	k := &row
	k.ready, k.dirty = k.ready && !k.processing, k.dirty && k.processing
	if !k.processing {
		k.Sync, k.running, k.taken = 0, KeyTaken{}, time.Time{}
	} else if k.Sync != 0 {
		k.last = min(k.last, k.Sync-1)
	}
	k.LastError = f.kept(k.LastError)
	k.Attempts = f.restoredAttempts(k.Attempts)
	switch phase := k.phase(); {
	case phase != PhaseDone:
		k.Phase = phase
		if f.s.Keys.set(id, k, f.s.Limits.Keys) {
			f.keys[id] = k
			c.Now.add(k, +1)
			q.add(k, +1)
		}
	default:
		if k.Phase != PhaseDropped {
			k.Phase = PhaseDone
		}
		f.retire(k)
	}
}

func (f *folder) restoredAttempts(attempts []*Sync) []*Sync {
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(s *Sync) bool { return s == nil })
	attempts = attempts[max(0, len(attempts)-f.s.Limits.Attempts):]
	for i, s := range attempts {
		attempts[i] = f.restoredSync(s)
	}
	if len(attempts) == 0 {
		return nil
	}
	return attempts
}

func (f *folder) restoredSync(s *Sync) *Sync {
	row := *s
	row.Error = f.kept(row.Error)
	return &row
}

func (f *folder) restoredChanges(diff []FieldChange) []FieldChange {
	if len(diff) > f.s.Limits.Changes+1 { // one says how many are missing
		diff = diff[:f.s.Limits.Changes+1]
	}
	diff = slices.Clone(diff)
	for i, c := range diff {
		diff[i] = FieldChange{Path: f.kept(c.Path), Old: f.kept(c.Old), New: f.kept(c.New)}
	}
	return diff
}

func (f *folder) restoreObject(o Object) {
	id := ObjectID(o.Ref)
	i := f.informer(o.Informer)
	o.Informer = i.Name
	old, known := f.s.Objects.Get(id)
	if !f.s.Objects.set(id, &o, f.s.Limits.Objects) {
		return
	}
	if known {
		f.disown(old, id)
		f.informer(old.Informer).Objects--
	}
	i.Objects++
	f.own(&o, id)
}

// restoreBounds puts back what is not in the snapshot because of a limit.
func (f *folder) restoreBounds(cost map[string]uint64) {
	for name, counter := range map[string]*uint64{
		"controllers": &f.s.Controllers.refused, "queues": &f.s.Queues.refused, "keys": &f.s.Keys.refused,
		"done keys": &f.s.order.evicted, "syncs": &f.s.Syncs.evicted, "writes": &f.s.Writes.evicted,
		"informers": &f.s.Informers.refused, "objects": &f.s.Objects.refused, "leases": &f.s.Leases.refused,
		"notes": &f.s.Notes.evicted, "recent entries": &f.s.Recent.evicted, "sources of drops": &f.s.Dropped.refused, "unknown types": &f.s.Unknown.refused,
	} {
		*counter = cost[name]
	}
}
