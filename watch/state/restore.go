package state

import (
	"slices"
	"time"
)

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
	case e.Control != nil:
		f.control(e.Control.Event, e.Control.At, f.kept, f.restoredChanges)
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
func (f *folder) kept(s string) string { return Clip(s, f.s.Limits.Text+64) }

func (f *folder) restoreController(row Controller) {
	c := f.controller(row.Name)
	row.Name, row.Now = c.Name, c.Now
	row.Queues = slices.Clone(row.Queues[:min(len(row.Queues), f.s.Limits.Queues)])
	row.QueueKeys = f.queueKeys(row.QueueKeys)
	row.Reason, row.LastError, row.LastErrorKey = f.kept(row.Reason), f.kept(row.LastError), f.kept(row.LastErrorKey)
	row.LastErrorQueue = f.kept(row.LastErrorQueue)
	row.Durations, row.Waits = row.Durations.clone(), row.Waits.clone()
	*c = row
}

func (f *folder) restoreQueue(row Queue) {
	q := f.queue(row.Controller, row.Name)
	row.Controller, row.Name, row.Depths = q.Controller, q.Name, q.Depths
	row.Durations, row.Waits = row.Durations.clone(), row.Waits.clone()
	stalled := row.Stalled
	row.Stalled = nil
	*q = row
	f.setStalled(q, nil)
	if stalled != nil {
		f.queueStalled(*stalled)
	}
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
		"pauses": &f.s.Controls.Pauses.refused, "breakpoints": &f.s.Controls.Breakpoints.refused, "holds at breakpoints": &f.s.Controls.Holds.refused,
		"pending approvals": &f.s.Controls.Questions.refused, "approvals": &f.s.Controls.Approvals.refused,
	} {
		*counter = cost[name]
	}
}
