package state

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Fold gives the snapshot after more entries; a nil snapshot is the one before
// the first, with the default limits. It is pure: the old snapshot stays as it
// was, folding a batch gives what folding its entries one by one gives, and
// any number of goroutines may fold from the same snapshot.
//
// It takes journals as they come. Events of one key are recorded on several
// goroutines, so a KeyFinished may follow the next sync's KeyTaken and a
// KeyTaken the KeyFinished of its own sync; entries may be missing. The rules:
//
//   - A worker's word beats a producer's. KeyFinished.Dirty decides whether the
//     key stands ready afterwards, whatever additions were seen meanwhile.
//   - Sync numbers of one key rise, and no two syncs of it overlap: a later
//     sync's event ends an earlier one, and an earlier one's ends nothing.
//   - KeyReady moves a key that has a delay pending, and no other.
//
// So a key may be missing for the moment between two records, but none stands
// ready for ever that is not, provided that additions are recorded before they
// are handed to the queue.
func Fold(s *Snapshot, entries ...Entry) *Snapshot {
	if s == nil {
		s = NewSnapshot(Limits{})
	}
	if len(entries) == 0 {
		return s
	}
	f := newFolder(s)
	for _, e := range entries {
		f.fold(e)
	}
	return f.s
}

// folder makes one new snapshot. The rows in its maps were copied by it and are
// seen by nobody else yet: it changes them in place.
type folder struct {
	s           *Snapshot
	controllers map[string]*Controller
	queues      map[string]*Queue
	keys        map[string]*Key
	informers   map[string]*Informer
}

func newFolder(old *Snapshot) *folder {
	s := *old
	s.Limits = s.Limits.orDefault()
	s.Controllers, s.Queues, s.Keys, s.Done = s.Controllers.thaw(), s.Queues.thaw(), s.Keys.thaw(), s.Done.thaw()
	s.Syncs, s.Writes, s.Notes, s.order = s.Syncs.thaw(), s.Writes.thaw(), s.Notes.thaw(), s.order.thaw()
	s.Informers, s.Objects, s.Leases, s.owned = s.Informers.thaw(), s.Objects.thaw(), s.Leases.thaw(), s.owned.thaw()
	s.Controls = s.Controls.thaw()
	s.Dropped, s.Unknown, s.Recent, s.stalled = s.Dropped.thaw(), s.Unknown.thaw(), s.Recent.thaw(), s.stalled.thaw()
	return &folder{
		s:           &s,
		controllers: map[string]*Controller{},
		queues:      map[string]*Queue{},
		keys:        map[string]*Key{},
		informers:   map[string]*Informer{},
	}
}

func (f *folder) fold(entry Entry) {
	if piece, ok := entry.Event.(Checkpoint); ok {
		f.checkpoint(piece) // it is of the entries before, and counts as none
		return
	}
	f.number(entry)
	f.remember(entry)
	at := entry.At
	switch e := entry.Event.(type) {
	case SessionStarted:
		f.s.Session, f.s.Started = e, at
	case ControllerChanged:
		f.controllerChanged(e, at)
	case InformerChanged:
		f.informerChanged(e, at)
	case ObjectChanged:
		f.objectChanged(e, at)
	case KeyAdded:
		f.keyAdded(e, at)
	case KeyReady:
		f.keyReady(e, at)
	case KeyTaken:
		f.keyTaken(e, at)
	case KeyFinished:
		f.keyFinished(e, at)
	case KeyForgotten:
		f.keyForgotten(e, at)
	case KeyDropped:
		f.keyDropped(e, at)
	case QueueStalled:
		f.queueStalled(e)
	case WriteFinished:
		f.writeFinished(e, entry.Seq, at)
	case LeaseChanged:
		f.leaseChanged(e, at)
	case ClientRead:
		f.clientRead(e, at)
	case ElectionChanged:
		e = e.bounded(f.text)
		since := at
		if old := f.s.Election; old != nil && old.Phase == e.Phase && old.Holder == e.Holder {
			since = old.At
		}
		f.s.Election = &Election{ElectionChanged: e, At: since}
		f.lostLead(e, at)
		f.s.Notes.push(Entry{entry.Seq, at, e}, f.s.Limits.Notes)
	case Gap:
		e.Reason = f.text(e.Reason)
		i := f.informer(e.Informer)
		i.Gaps++
		i.LastGap, i.LastGapAt = e.Reason, at
		f.s.Notes.push(Entry{entry.Seq, at, e}, f.s.Limits.Notes)
	case Dropped:
		n, _ := f.s.Dropped.Get(e.Where)
		f.s.Dropped.set(e.Where, n+e.Count, maxNames)
	case Note:
		e.Text = f.text(e.Text)
		f.s.Notes.push(Entry{entry.Seq, at, e}, f.s.Limits.Notes)
	default:
		if f.control(e, at, f.text, f.changes) {
			break
		}
		name := Unknown{}.EventType()
		if e != nil {
			name = f.name(e.EventType())
		}
		n, _ := f.s.Unknown.Get(name)
		f.s.Unknown.set(name, n+1, maxNames)
	}
}

// number keeps the journal's place, and counts what is missing before it.
func (f *folder) number(entry Entry) {
	f.s.Entries++
	if entry.Seq > f.s.Seq {
		if _, explained := entry.Event.(Dropped); !explained {
			f.s.Lost += entry.Seq - f.s.Seq - 1
		}
		f.s.Seq = entry.Seq
	}
	if entry.At.After(f.s.At) {
		f.s.At = entry.At
	}
}

// controller gives a row that may be changed; one that found no room is given
// too, and is lost.
func (f *folder) controller(name string) *Controller {
	name = f.name(name)
	if c, ok := f.controllers[name]; ok {
		return c
	}
	c := &Controller{Name: name, Durations: new(Histogram), Waits: new(Histogram)}
	if old, ok := f.s.Controllers.Get(name); ok {
		*c = *old
		durations, waits := *old.Durations, *old.Waits
		c.Durations, c.Waits = &durations, &waits
	}
	if f.s.Controllers.set(name, c, f.s.Limits.Controllers) {
		f.controllers[name] = c
	}
	return c
}

// queue is like controller.
func (f *folder) queue(controller, name string) *Queue {
	controller, name = f.name(controller), f.name(name)
	id := QueueID(controller, name)
	if q, ok := f.queues[id]; ok {
		return q
	}
	q := &Queue{Controller: controller, Name: name, Durations: new(Histogram), Waits: new(Histogram)}
	if old, ok := f.s.Queues.Get(id); ok {
		*q = *old
		durations, waits := *old.Durations, *old.Waits
		q.Durations, q.Waits = &durations, &waits
	}
	if f.s.Queues.set(id, q, f.s.Limits.Queues) {
		f.queues[id] = q
	}
	return q
}

// informer is like controller.
func (f *folder) informer(name string) *Informer {
	name = f.name(name)
	if i, ok := f.informers[name]; ok {
		return i
	}
	i := &Informer{Name: name}
	if old, ok := f.s.Informers.Get(name); ok {
		*i = *old
	}
	if f.s.Informers.set(name, i, f.s.Limits.Informers) {
		f.informers[name] = i
	}
	return i
}

func (f *folder) controllerChanged(e ControllerChanged, at time.Time) {
	c := f.controller(e.Controller)
	if c.Status != e.Status {
		c.Since = at
	}
	c.Status, c.Reason = e.Status, f.text(e.Reason)
	if e.Queues != nil {
		c.Queues = slices.Clone(e.Queues[:min(len(e.Queues), f.s.Limits.Queues)])
	}
	if e.Workers != 0 {
		c.Workers = e.Workers
	}
	if len(e.Keys) > 0 {
		c.QueueKeys = f.queueKeys(e.Keys)
	}
	switch e.Status {
	case ControllerFailed:
		c.fails(c.Reason, "", "", at)
	case ControllerRunning:
		c.succeeds("", "", at)
	}
}

func (f *folder) informerChanged(e InformerChanged, at time.Time) {
	i := f.informer(e.Informer)
	if i.Status != e.Status {
		i.Since = at
	}
	i.Status, i.Reason, i.Reported = e.Status, f.text(e.Reason), e.Objects
	if e.ResourceVersion != "" {
		i.ResourceVersion = e.ResourceVersion
	}
}

func (f *folder) objectChanged(e ObjectChanged, at time.Time) {
	i := f.informer(e.Informer)
	if e.Change == ChangeResync {
		return
	}
	i.Events++
	i.LastEvent = at
	rv := e.NewRV
	if rv == "" {
		rv = e.OldRV
	}
	if i.ResourceVersion == "" || olderRV(i.ResourceVersion, rv) {
		i.ResourceVersion = rv
	}

	id := ObjectID(e.Object)
	old, known := f.s.Objects.Get(id)
	if e.Change == ChangeDeleted {
		if known && old.Same(e.Object) {
			f.s.Objects.delete(id)
			f.disown(old, id)
			f.informer(old.Informer).Objects--
		}
		return
	}
	// Two informers of one type deliver the same change twice, and one of them
	// is behind the other.
	if known && old.Same(e.Object) && !olderRV(old.ResourceVersion, rv) {
		return
	}
	o := &Object{Ref: e.Object, ResourceVersion: rv, Owner: e.Owner, Informer: i.Name, Change: e.Change, Changed: at}
	if !f.s.Objects.set(id, o, f.s.Limits.Objects) {
		return
	}
	if known {
		f.disown(old, id)
		f.informer(old.Informer).Objects--
	}
	i.Objects++
	f.own(o, id)
}

func (f *folder) own(o *Object, id string) {
	if o.Owner != nil && o.Owner.UID != "" {
		f.s.owned.set(o.Owner.UID+sep+id, struct{}{}, math.MaxInt)
	}
}

func (f *folder) disown(o *Object, id string) {
	if o.Owner != nil && o.Owner.UID != "" {
		f.s.owned.delete(o.Owner.UID + sep + id)
	}
}

// olderRV compares resourceVersions as the numbers that the API says they are
// (KEP-5504); those that are no numbers are taken to be in order.
func olderRV(a, b string) bool {
	if !isNumber(a) || !isNumber(b) {
		return a != b
	}
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (f *folder) writeFinished(e WriteFinished, seq uint64, at time.Time) {
	c := f.controller(e.Controller)
	c.Writes.count(e.Result)
	c.LastWrite = at
	e.Message = f.text(e.Message)
	if e.Cause.Kind != CauseSync {
		c.wroteOutside(e, at)
	}
	e.Diff = f.changes(e.Diff)
	f.s.Writes.push(&Write{Seq: seq, At: at, WriteFinished: e}, f.s.Limits.Writes)
}

// changes copies a diff within its bounds. The last of too many says how many
// are missing.
func (f *folder) changes(diff []FieldChange) []FieldChange {
	if diff == nil {
		return nil
	}
	limit := f.s.Limits.Changes
	kept := slices.Clone(diff[:min(len(diff), limit)])
	for i, c := range kept {
		kept[i] = FieldChange{Path: f.name(c.Path), Old: f.text(c.Old), New: f.text(c.New)}
	}
	if more := len(diff) - len(kept); more > 0 {
		kept = append(kept, MoreChanges(more))
	}
	return kept
}

func (f *folder) leaseChanged(e LeaseChanged, at time.Time) {
	id := ObjectID(e.Lease)
	if e.Deleted {
		f.s.Leases.delete(id)
		return
	}
	l := &Lease{LeaseChanged: e, Since: at, Seen: at}
	if old, ok := f.s.Leases.Get(id); ok && old.Holder == e.Holder {
		l.Since = old.Since
	}
	f.s.Leases.set(id, l, f.s.Limits.Leases)
}

// bounded has the texts cut, some of which come from a lease.
func (e ElectionChanged) bounded(text func(string) string) ElectionChanged {
	e.Identity, e.Holder, e.Reason = text(e.Identity), text(e.Holder), text(e.Reason)
	return e
}

func (f *folder) text(s string) string { return Clip(s, f.s.Limits.Text) }

// name bounds what a damaged recording could make a key of.
func (f *folder) name(s string) string { return Clip(s, 1024) }
