package state

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Controls is what the user, a policy and the circuit breaker hold back of the
// controllers and their writes, as far as the journal tells.
type Controls struct {
	// Pauses is by controller; see Snapshot.Paused.
	Pauses Table[*PauseChanged] `json:"pauses"`
	// Breakpoints are those in force and those that still hold something, in the
	// order of their numbers; Holds are what they hold, by key.
	Breakpoints Table[*BreakpointChanged] `json:"breakpoints"`
	Holds       Table[*BreakpointHit]     `json:"holds"`
	// Questions are the writes that wait for an approval, the first held first,
	// and Approvals the answers in force that cover more than one write.
	Questions Table[*Question]      `json:"questions"`
	Approvals Table[*ApprovalGiven] `json:"approvals"`
	// Breaker is nil unless the circuit breaker has tripped.
	Breaker *BreakerChanged `json:"breaker,omitempty"`
	// NotSent is the last write that was approved and not sent, or nil.
	NotSent *WriteDecided `json:"notSent,omitempty"`
	// Active is nil where the session has no active mode to enter.
	Active *ActiveChanged `json:"active,omitempty"`
}

func (c Controls) thaw() Controls {
	c.Pauses, c.Breakpoints, c.Holds = c.Pauses.thaw(), c.Breakpoints.thaw(), c.Holds.thaw()
	c.Questions, c.Approvals = c.Questions.thaw(), c.Approvals.thaw()
	return c
}

func byNumber[N int | uint64](n N) string { return fmt.Sprintf("%020d", n) }

func holdID(controller, queue, key string, hold uint64) string {
	return KeyID(controller, queue, key) + sep + byNumber(hold)
}

// Paused reports whether a controller is paused, or was stopped by a breakpoint.
func (s *Snapshot) Paused(controller string) bool {
	if _, paused := s.Controls.Pauses.Get(controller); paused {
		return true
	}
	for range s.Controls.Holds.Prefix(controller + sep) {
		return true
	}
	return false
}

// HoldOf is what a breakpoint holds of a key, first that which was held first; nil
// where there is nothing.
func (s *Snapshot) HoldOf(controller, queue, key string) *BreakpointHit {
	for _, h := range s.Controls.Holds.Prefix(KeyID(controller, queue, key) + sep) {
		return h
	}
	return nil
}

// HoldsAt is what a breakpoint holds, the first held first.
func (s *Snapshot) HoldsAt(breakpoint int) []*BreakpointHit {
	var out []*BreakpointHit
	for _, h := range s.Controls.Holds.All() {
		if h.Breakpoint == breakpoint {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b *BreakpointHit) int { return cmp.Compare(a.Hold, b.Hold) })
	return out
}

// Questions gives the writes that wait for an approval, the first held first.
func (s *Snapshot) Questions() iter.Seq[*Question] { return values(s.Controls.Questions.All()) }

// WritesAllowedFor is for how long the writes of an active session may leave without
// another renewal of its lease: zero where it does not lead, or the time is over.
func (s *Snapshot) WritesAllowedFor(now time.Time) time.Duration {
	e := s.Election
	if e == nil || e.Phase != ElectionAcquired && e.Phase != ElectionRenewedLate {
		return 0
	}
	lease, ok := s.Leases.Get(ObjectID(e.Lease))
	if !ok || lease.Holder != e.Identity {
		return 0
	}
	return max(lease.RenewTime.Add(e.Deadline).Sub(now), 0)
}

// Why says in a line why a question's write is made: the sync, and the event that
// caused it as far as the journal knows. Of a program of the user's own nothing is
// known but what it calls itself.
func (s *Snapshot) Why(q Question) string {
	if q.Client != "" {
		return "the client " + q.Client
	}
	text := q.Cause.String()
	if q.Cause.Kind != CauseSync {
		return text
	}
	key := s.Key(q.Cause.Controller, q.Cause.Queue, q.Cause.Key)
	if key == nil {
		return text
	}
	if run, _, running := key.Running(); running && run.Sync == q.Cause.Sync && run.Cause.Kind != "" {
		text += " ← " + run.Cause.String()
	}
	return text
}

// control folds a control event, its texts cut by text and changes; false for an
// event of another kind.
func (f *folder) control(e Event, at time.Time, text func(string) string, changes func([]FieldChange) []FieldChange) bool {
	c, limits := &f.s.Controls, f.s.Limits
	since := func(t time.Time) time.Time {
		if t.IsZero() {
			return at
		}
		return t
	}
	switch e := e.(type) {
	case ControllerRequested, KeyStepped, KeyRetried:
	case PauseChanged:
		e.Controller, e.Since = f.name(e.Controller), since(e.Since)
		if e.Paused {
			c.Pauses.set(e.Controller, &e, limits.Controllers)
			break
		}
		c.Pauses.delete(e.Controller)
		f.release(func(h *BreakpointHit) bool { return h.Controller == e.Controller })
	case BreakpointChanged:
		e.Controller, e.Key = f.name(e.Controller), f.name(e.Key)
		c.Breakpoints.set(byNumber(e.Number), &e, limits.Breakpoints)
		f.sweep()
	case BreakpointHit:
		e.Controller, e.Queue, e.Key = f.name(e.Controller), f.name(e.Queue), f.name(e.Key)
		e.Write, e.Since = text(e.Write), since(e.Since)
		c.Holds.set(holdID(e.Controller, e.Queue, e.Key, e.Hold), &e, limits.Holds)
	case BreakpointReleased:
		c.Holds.delete(holdID(f.name(e.Controller), f.name(e.Queue), f.name(e.Key), e.Hold))
		f.sweep()
	case WriteHeld:
		q := f.question(e.Question, at, text, changes)
		c.Questions.set(byNumber(q.ID), &q, limits.Questions)
	case WriteDecided:
		c.Questions.delete(byNumber(e.ID))
		if e.Outcome == WriteNotSent {
			e.Text, e.By, e.Reason = text(e.Text), text(e.By), text(e.Reason)
			c.NotSent = &e
		}
	case ApprovalGiven:
		e.Covers, e.Since = text(e.Covers), since(e.Since)
		c.Approvals.set(byNumber(e.Number), &e, limits.Approvals)
	case ApprovalsWithdrawn:
		for _, a := range slices.Collect(values(c.Approvals.All())) {
			c.Approvals.delete(byNumber(a.Number))
		}
	case BreakerChanged:
		c.Breaker = nil
		if e.Tripped {
			e.Reason, e.By, e.Since, e.Means = text(e.Reason), text(e.By), since(e.Since), nil
			c.Breaker = &e
		}
	case ActiveChanged:
		e.Ended, e.Reason, e.Again = text(e.Ended), text(e.Reason), text(e.Again)
		c.Active = &e
	case ControlsRestated:
		f.restate(e.Source)
	default:
		return false
	}
	return true
}

// question bounds what a damaged recording could make of one.
func (f *folder) question(q Question, at time.Time, text func(string) string, changes func([]FieldChange) []FieldChange) Question {
	q.Controller, q.Client, q.Text, q.Problem, q.Why = f.name(q.Controller), text(q.Client), text(q.Text), text(q.Problem), text(q.Why)
	q.Diff = changes(q.Diff)
	if q.Since.IsZero() {
		q.Since = at
	}
	if q.Why == "" {
		q.Why = text(f.s.Why(q))
	}
	var covers map[Answer]string
	for _, a := range []Answer{AnswerKey, AnswerController, AnswerVerb} {
		if what := q.Covers[a]; what != "" {
			if covers == nil {
				covers = map[Answer]string{}
			}
			covers[a] = text(what)
		}
	}
	q.Covers = covers
	return q
}

// release forgets holds. A controller that is resumed holds nothing any more, whether
// each release was recorded or not; neither does a key that a worker has taken.
func (f *folder) release(gone func(*BreakpointHit) bool) {
	held := &f.s.Controls.Holds
	if held.Len() == 0 {
		return
	}
	for id, h := range collect(held.All()) {
		if gone(h) {
			held.delete(id)
		}
	}
	f.sweep()
}

// taken releases a key at a breakpoint: a worker has it after all.
func (f *folder) taken(controller, queue, key string) {
	if f.s.Controls.Holds.Len() == 0 {
		return
	}
	id := KeyID(f.name(controller), f.name(queue), f.name(key)) + sep
	for at, h := range collect(f.s.Controls.Holds.Prefix(id)) {
		if h.Write == "" {
			f.s.Controls.Holds.delete(at)
		}
	}
	f.sweep()
}

// sweep forgets the breakpoints that were removed and hold nothing.
func (f *folder) sweep() {
	points := &f.s.Controls.Breakpoints
	for id, b := range collect(points.All()) {
		if b.Removed && !slices.ContainsFunc(slices.Collect(values(f.s.Controls.Holds.All())), func(h *BreakpointHit) bool { return h.Breakpoint == b.Number }) {
			points.delete(id)
		}
	}
}

// restate forgets what a source has stated.
func (f *folder) restate(source ControlSource) {
	c := &f.s.Controls
	switch source {
	case SourceBreakpoints:
		clearTable(&c.Pauses)
		clearTable(&c.Breakpoints)
		clearTable(&c.Holds)
	case SourceApprovals:
		clearTable(&c.Questions)
		clearTable(&c.Approvals)
		c.Breaker, c.NotSent = nil, nil
	case SourceActive:
		c.Active = nil
	}
}

func clearTable[V any](t *Table[V]) {
	for id := range collect(t.All()) {
		t.delete(id)
	}
}

// collect takes the rows of a table before it is changed.
func collect[V any](rows iter.Seq2[string, V]) map[string]V {
	out := map[string]V{}
	for id, v := range rows {
		out[id] = v
	}
	return out
}

// lostLead has active mode end when the lease is lost: the controllers are about to
// be stopped.
func (f *folder) lostLead(e ElectionChanged, at time.Time) {
	if active := f.s.Controls.Active; e.Phase == ElectionLost && active != nil && active.Phase == ActiveLeading {
		f.s.Controls.Active = &ActiveChanged{Phase: ActiveEnding, Ended: "lease lost", Reason: e.Reason, EndedAt: at}
	}
}

// events states the controls as the events that give them again.
func (c Controls) events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		emit := func(events iter.Seq[Event]) bool {
			for e := range events {
				if !yield(e) {
					return false
				}
			}
			return true
		}
		if !emit(eventsOf(c.Pauses, func(e *PauseChanged) Event { return *e })) ||
			!emit(eventsOf(c.Holds, func(e *BreakpointHit) Event { return *e })) ||
			!emit(eventsOf(c.Breakpoints, func(e *BreakpointChanged) Event { return *e })) ||
			!emit(eventsOf(c.Questions, func(q *Question) Event { return WriteHeld{*q} })) ||
			!emit(eventsOf(c.Approvals, func(e *ApprovalGiven) Event { return *e })) {
			return
		}
		if c.Breaker != nil && !yield(*c.Breaker) || c.NotSent != nil && !yield(*c.NotSent) {
			return
		}
		if c.Active != nil {
			yield(*c.Active)
		}
	}
}

func eventsOf[V any](t Table[V], event func(V) Event) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, v := range t.All() {
			if !yield(event(v)) {
				return
			}
		}
	}
}
