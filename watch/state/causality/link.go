package causality

import (
	"cmp"
	"slices"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Links are the entries of a snapshot as causes and effects: a forest of Hops.
// It is immutable.
type Links struct {
	// Hops has all, in the order in which they began; Roots those without a
	// parent.
	Hops, Roots []*Hop
	// Gaps are the Gap and Dropped entries: where one is, hops may be missing.
	Gaps []state.Entry

	bySeq    map[uint64]*Hop
	byObject map[string][]*Hop
	byKey    map[string][]*Hop
}

// Link finds out what follows from what in the entries that a snapshot holds:
//
//	event ─▶ enqueue ─▶ sync ─▶ write ─▶ event ─▶ …
//
// Causes as they were recorded link all but the step from a write to its event;
// there, the resourceVersion does that the server answered with. What is left,
// and belongs to an object of the same story, is linked by the object or its
// owner, and says so (HopLink). The write of a Kubernetes Event, of which no cause
// is known, follows what happened last to the object that it names. Its cost is that of the snapshot's rings, not
// of its tables.
func Link(s *state.Snapshot) *Links {
	l := &linker{
		s: s, syncs: map[uint64]*Hop{}, events: map[string]*Hop{}, writes: map[string][]*Hop{}, pending: map[string][]*Hop{},
		last: map[string]*Hop{}, born: map[string]*Hop{}, silent: map[string][]*Hop{},
		Links: Links{bySeq: map[uint64]*Hop{}, byObject: map[string][]*Hop{}, byKey: map[string][]*Hop{}},
	}
	l.collect()
	l.causes()
	l.versions()
	l.finish()
	return &l.Links
}

// Hop gives the Hop of an entry, or nil.
func (l *Links) Hop(seq uint64) *Hop { return l.bySeq[seq] }

// OfObject gives the Hops that are about an object, the writes of its Events among
// them.
func (l *Links) OfObject(r state.Ref) []*Hop {
	all := l.byObject[state.ObjectID(r)]
	if r.UID == "" {
		return all
	}
	var out []*Hop
	for _, h := range all {
		o, _ := h.Object()
		about, tells := h.About()
		if o.Same(r) || tells && about.Same(r) {
			out = append(out, h)
		}
	}
	return out
}

// OfKey gives the Hops of a key.
func (l *Links) OfKey(controller, queue, key string) []*Hop {
	return l.byKey[state.KeyID(controller, queue, key)]
}

// linker makes Links.
type linker struct {
	Links
	s      *state.Snapshot
	syncs  map[uint64]*Hop
	events map[string]*Hop
	// writes are those carried out, by object.
	writes map[string][]*Hop
	// pending are the additions of a key that no sync has taken yet.
	pending map[string][]*Hop
	// added are additions and syncs, in the order of the journal.
	added []*Hop
	// last is what happened to an object last, born its beginning, and silent
	// the writes that were answered without a version.
	last, born map[string]*Hop
	silent     map[string][]*Hop
}

func (l *linker) add(h *Hop) *Hop {
	l.Hops = append(l.Hops, h)
	if h.Seq != 0 {
		l.bySeq[h.Seq] = h
	}
	return h
}

// eventID tells one change of an object from the next. Handlers and informers
// that were told of the same one make one Hop.
func eventID(object state.Ref, change state.Change, oldRV, newRV string) string {
	if newRV == "" {
		newRV = oldRV
	}
	switch change {
	case state.ChangeAdded, state.ChangeUpdated:
		change = ""
	}
	return state.ObjectID(object) + sep + string(change) + sep + newRV
}

// collect makes the Hops. The rings of syncs and writes reach further back than
// that of the entries, or less far.
func (l *linker) collect() {
	for w := range l.s.Writes.All() {
		if w.Heartbeat() {
			continue
		}
		h := l.add(&Hop{Kind: HopWrite, Seq: w.Seq, Start: w.At.Add(-w.Duration), End: w.At, Event: w.WriteFinished})
		if w.Result == state.WriteDone {
			id := state.ObjectID(w.Object)
			l.writes[id] = append(l.writes[id], h)
		}
	}
	for e := range l.s.Recent.All() {
		switch event := e.Event.(type) {
		case state.ObjectChanged:
			l.event(event, e.Seq, e.At)
		case state.KeyAdded:
			l.added = append(l.added, l.add(&Hop{Kind: HopAdded, Seq: e.Seq, Start: e.At, End: e.At, Event: event}))
		case state.KeyTaken:
			h := l.add(&Hop{Kind: HopSync, Seq: e.Seq, Start: e.At, Event: event})
			if event.Sync != 0 {
				l.syncs[event.Sync] = h
			}
			l.added = append(l.added, h)
		case state.Gap, state.Dropped:
			l.Gaps = append(l.Gaps, e)
		case state.KeyFinished:
			if h := l.syncs[event.Sync]; h != nil {
				l.bySeq[e.Seq] = h
			}
		}
	}
	for s := range l.s.Syncs.All() {
		h := l.syncs[s.Number]
		if h == nil {
			taken := state.KeyTaken{Controller: s.Controller, Queue: s.Queue, Key: s.Key, Sync: s.Number, Waited: s.Waited, Cause: s.Cause, Causes: s.Causes}
			h = l.add(&Hop{Kind: HopSync, Start: s.Taken, Event: taken})
			l.syncs[s.Number] = h
			l.because(h, s.Cause)
		}
		h.Done, h.End = s, s.Finished
	}
}

// event gives the Hop of a change, and moves it to the earliest time at which it
// is known to have reached a cache.
func (l *linker) event(e state.ObjectChanged, seq uint64, at time.Time) *Hop {
	id := eventID(e.Object, e.Change, e.OldRV, e.NewRV)
	h := l.events[id]
	if h == nil {
		h = l.add(&Hop{Kind: HopEvent, Start: at, End: at, Event: e})
		l.events[id] = h
	}
	if seq != 0 && h.Seq == 0 {
		h.Seq, h.Event = seq, e
		l.bySeq[seq] = h
	}
	if at.Before(h.Start) {
		h.Start, h.End = at, at
	}
	return h
}

// causes links what was recorded with its cause.
func (l *linker) causes() {
	for _, h := range l.added {
		switch e := h.Event.(type) {
		case state.KeyAdded:
			l.because(h, e.Cause)
			id := state.KeyID(e.Controller, e.Queue, e.Key)
			l.pending[id] = append(l.pending[id], h)
		case state.KeyTaken:
			if by := l.take(h, e); by != nil {
				l.link(h, by, LinkCause)
			} else {
				l.because(h, e.Cause)
			}
		}
	}
	for _, h := range slices.Clone(l.Hops) {
		if w, ok := h.Event.(state.WriteFinished); ok {
			l.because(h, w.Cause)
			if h.Parent == nil && w.Controller == applies {
				h.Origin = OriginUser
			}
		}
	}
}

// applies is the writer of the manifests that the user gave.
const applies = "apply"

// take gives the addition for which a key was taken: the one with the cause that
// the worker was told of. All that are not for later are over then.
func (l *linker) take(h *Hop, e state.KeyTaken) *Hop {
	id := state.KeyID(e.Controller, e.Queue, e.Key)
	var by *Hop
	var left []*Hop
	for _, a := range l.pending[id] {
		added := a.Event.(state.KeyAdded)
		if added.Due.After(h.Start) && !sameCause(added.Cause, e.Cause) {
			left = append(left, a)
			continue
		}
		a.Into = e.Sync
		if by == nil && sameCause(added.Cause, e.Cause) {
			by = a
		}
	}
	l.pending[id] = left
	return by
}

func sameCause(a, b state.Cause) bool {
	if a.Kind == state.CauseEvent && b.Kind == state.CauseEvent && a.Object != nil && b.Object != nil {
		return eventID(*a.Object, a.Change, a.OldRV, a.NewRV) == eventID(*b.Object, b.Change, b.OldRV, b.NewRV)
	}
	return a.Kind == b.Kind && a.Sync == b.Sync && a.Controller == b.Controller
}

func (l *linker) because(h *Hop, c state.Cause) {
	switch c.Kind {
	case state.CauseEvent:
		if c.Object != nil {
			l.link(h, l.event(state.ObjectChanged{Change: c.Change, Object: *c.Object, OldRV: c.OldRV, NewRV: c.NewRV}, 0, h.Start), LinkCause)
			return
		}
		h.Origin = OriginUnknown
	case state.CauseSync:
		if by := l.syncs[c.Sync]; by != nil {
			l.link(h, by, LinkCause)
			return
		}
		h.Origin = OriginForgotten
	case state.CauseTimer:
		h.Origin = OriginTimer
	case state.CauseUser:
		h.Origin = OriginUser
	default:
		h.Origin = OriginUnknown
	}
}

// link makes one Hop follow from another, unless that follows from it.
func (l *linker) link(h, from *Hop, how HopLink) bool {
	for up := from; up != nil; up = up.Parent {
		if up == h {
			h.Origin = cmp.Or(h.Origin, OriginUnknown)
			return false
		}
	}
	h.Parent, h.Link, h.Origin = from, how, ""
	return true
}

// versions links events to the writes that made them, and then what is left by
// the objects.
func (l *linker) versions() {
	for _, h := range l.Hops {
		e, ok := h.Event.(state.ObjectChanged)
		if !ok {
			continue
		}
		switch e.Change {
		case state.ChangeListed:
			h.Origin = OriginListed
			continue
		case state.ChangeResync:
			h.Origin = OriginResync
			continue
		}
		h.Origin = OriginElsewhere
		if oldest, ok := l.s.Writes.At(0); ok && l.s.Writes.Evicted() > 0 && h.Start.Before(oldest.At) {
			h.Origin = OriginForgotten
		}
		l.made(h, e)
	}
	slices.SortFunc(l.Hops, (*Hop).order)
	for _, h := range l.Hops {
		object, ok := h.Object()
		if !ok {
			continue
		}
		id := state.ObjectID(object)
		l.byObject[id] = append(l.byObject[id], h)
		if about, ok := h.About(); ok {
			l.byObject[state.ObjectID(about)] = append(l.byObject[state.ObjectID(about)], h)
		}
		if h.Parent == nil {
			l.suppose(h, object)
		}
		l.happened(h, object)
	}
}

// made links an event to the first write that was answered with its version, if
// that began before. Others were answered with what was there already.
func (l *linker) made(h *Hop, e state.ObjectChanged) {
	for _, w := range l.writes[state.ObjectID(e.Object)] {
		write := w.Event.(state.WriteFinished)
		if write.ResourceVersion == "" || write.ResourceVersion != e.NewRV || !e.Object.Same(write.Object) {
			continue
		}
		if h.Parent != nil || w.Start.After(h.Start) || !l.link(h, w, LinkVersion) {
			w.Unchanged = true
		}
	}
}

// suppose links what has no cause of its own to what happened to its object
// last. It does so where the object belongs to the story: was made in the course
// of it, or is what it began with. A change of the latter by another process
// begins a story of its own.
func (l *linker) suppose(h *Hop, object state.Ref) {
	before := l.last[state.ObjectID(object)]
	if before == nil || !aboutSame(before, object) {
		l.supposeOwner(h)
		l.supposeTold(h)
		return
	}
	born := l.born[state.ObjectID(object)]
	made := born != nil && born.Parent != nil && aboutSame(born, object)
	began := aboutSame(before.Root(), object)
	switch e := h.Event.(type) {
	case state.WriteFinished:
		if h.Origin == OriginUnknown && (made || began) {
			l.link(h, before, LinkObject)
		}
	case state.ObjectChanged:
		if h.Origin != OriginElsewhere {
			return
		}
		if w := l.unanswered(h, object); w != nil {
			l.link(h, w, LinkObject)
		} else if made || began && e.Change == state.ChangeDeleted {
			l.link(h, before, LinkObject)
		}
	}
}

func aboutSame(h *Hop, object state.Ref) bool {
	o, ok := h.Object()
	return ok && o.Same(object)
}

// unanswered is a write of the object that began before an event and was
// answered without a version, such as a binding. Each is given for one event.
func (l *linker) unanswered(h *Hop, object state.Ref) *Hop {
	all := l.silent[state.ObjectID(object)]
	for i, w := range all {
		if !w.Start.After(h.Start) && aboutSame(w, object) {
			l.silent[state.ObjectID(object)] = slices.Delete(all, i, i+1)
			return w
		}
	}
	return nil
}

// supposeOwner links an object of another process's making to its owner.
func (l *linker) supposeOwner(h *Hop) {
	e, ok := h.Event.(state.ObjectChanged)
	if !ok || e.Owner == nil || e.Change != state.ChangeAdded || h.Origin != OriginElsewhere {
		return
	}
	if owner := l.last[state.ObjectID(*e.Owner)]; owner != nil && aboutSame(owner, *e.Owner) {
		l.link(h, owner, LinkOwner)
	}
}

// supposeTold links the write of an Event to what happened last to the object that
// the Event names.
func (l *linker) supposeTold(h *Hop) {
	about, ok := h.About()
	if !ok || h.Origin != OriginUnknown {
		return
	}
	if last := l.last[state.ObjectID(about)]; last != nil && aboutSame(last, about) {
		l.link(h, last, LinkAbout)
	}
}

// happened notes what an object went through last, and where it came from.
func (l *linker) happened(h *Hop, object state.Ref) {
	id := state.ObjectID(object)
	born := false
	switch e := h.Event.(type) {
	case state.WriteFinished:
		if e.Result != state.WriteDone || h.Unchanged {
			return
		}
		born = e.Subresource == "" && e.Status == 201
		if e.ResourceVersion == "" {
			l.silent[id] = append(l.silent[id], h)
		}
	case state.ObjectChanged:
		born = e.Change == state.ChangeAdded
	}
	l.last[id] = h
	if old := l.born[id]; born && (old == nil || !aboutSame(old, object)) {
		l.born[id] = h
	}
}

func (l *linker) finish() {
	for _, h := range l.Hops {
		if h.Parent == nil {
			l.Roots = append(l.Roots, h)
		} else {
			h.Parent.Children = append(h.Parent.Children, h)
		}
		if controller, queue, key, ok := h.Key(); ok {
			id := state.KeyID(controller, queue, key)
			l.byKey[id] = append(l.byKey[id], h)
		}
	}
}
