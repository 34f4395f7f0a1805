package approve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options configure a Gate. The zero Options reject all writes.
type Options struct {
	// Policy allows writes without approval; nil allows none.
	Policy *Policy
	// Ask makes the other writes wait for approval. Without it they are rejected.
	Ask bool
	// Recorder receives the journal's events: each change of the pending writes, of the
	// approvals and of the circuit breaker.
	Recorder state.Recorder
	// Unasked returns why a write needs no approval, for the record, or nothing. Such a
	// write does not count towards the limits and is held only by the circuit breaker.
	// It must not block.
	Unasked func(guard.Pending) string
	// OnBrake returns sentences for the note that the circuit breaker is tripped: its
	// effect and the next step. It may be nil, and must not call the gate.
	OnBrake func() []string
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// maxRemembered bounds the memory of which writes were sent and rejected. It is cleared
// when full: Events then wait for a new decision, and counts of rejections restart.
const maxRemembered = 1 << 14

// Gate decides about writes. Create one with New for each session, and pass its Before
// to the guard.
type Gate struct {
	policy  *Policy
	asks    bool
	rec     state.Recorder
	unasked func(guard.Pending) string
	onBrake func() []string
	now     func() time.Time

	mu      sync.Mutex
	closed  bool
	last    int
	waiting []*waiting
	grants  []Grant
	brake   Brake
	// sent has the times of the writes sent in the last minute, deletes the number of
	// deletes sent; both since the circuit breaker was released.
	sent    []time.Time
	deletes int
	// told reports of which objects the last write was sent, for Events.
	told    map[place]bool
	skips   map[string]int
	changed chan struct{}
	// unsent is the last write that was approved and not sent.
	unsent state.WriteDecided
	// given is the number of the last grant.
	given int
}

// place is an object written by a controller.
type place struct{ controller, key string }

// waiting is a pending write.
type waiting struct {
	subject subject
	asked   state.Question
	// unasked is why it needs no approval.
	unasked string
	// yes: the user has approved this write.
	yes bool
	// over receives the outcome, once.
	over chan outcome
}

type outcome struct {
	by  string
	err error
}

// New returns a gate.
func New(o Options) *Gate {
	g := &Gate{
		policy: o.Policy, asks: o.Ask, rec: o.Recorder, unasked: o.Unasked, onBrake: o.OnBrake, now: o.Now,
		told: map[place]bool{}, skips: map[string]int{}, changed: make(chan struct{}),
	}
	if g.now == nil {
		g.now = time.Now
	}
	return g
}

// Asks reports whether writes wait for approval.
func (g *Gate) Asks() bool { return g.asks }

// Before is guard.Options.Before. It returns once the write may be sent, or returns the
// error to answer it with.
func (g *Gate) Before(ctx context.Context, p guard.Pending) error {
	if p.IsEvent() {
		return g.event(p)
	}
	w := &waiting{subject: subjectOf(p), over: make(chan outcome, 1)}
	w.asked = w.subject.ask()
	w.asked.Client = clientOf(p)
	if g.unasked != nil {
		w.unasked = g.unasked(p)
	}
	g.mu.Lock()
	settled := g.settle(w)
	g.mu.Unlock()
	if settled {
		out := <-w.over
		if out.err == nil {
			p.Approved(out.by)
		}
		return out.err
	}
	preview, err := p.Preview(ctx)
	if err != nil {
		w.asked.Problem = state.OneLine(err.Error())
	}
	w.asked.Diff, w.asked.Approximate = preview.Diff, preview.Approximate
	out := g.wait(ctx, w, p.String())
	if out.err != nil {
		return out.err
	}
	if err := g.again(ctx, p, w, preview); err != nil {
		return err
	}
	p.Approved(out.by)
	return nil
}

// wait adds a pending approval and returns its outcome.
func (g *Gate) wait(ctx context.Context, w *waiting, text string) outcome {
	g.mu.Lock()
	if !g.settle(w) {
		g.last++
		q := &w.asked
		q.ID, q.Since, q.Text = g.last, g.now().UTC(), text
		q.Skipped = g.skips[w.subject.identity()]
		g.waiting = append(g.waiting, w)
		g.record(state.WriteHeld{Question: *q})
		g.notify()
	}
	g.mu.Unlock()
	select {
	case out := <-w.over:
		return out
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.waiting, w); at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
		g.record(w.decided(state.WriteCanceled))
		g.notify()
	}
	return outcome{err: fmt.Errorf("pending approval: %w", context.Cause(ctx))}
}

// again checks a write that was pending again before it is sent.
func (g *Gate) again(ctx context.Context, p guard.Pending, w *waiting, preview guard.Preview) error {
	err := p.Unchanged(ctx, preview)
	g.mu.Lock()
	defer g.mu.Unlock()
	// The check has taken time.
	switch {
	case err != nil:
	case g.closed:
		err = errors.New("the session is ending")
	case g.brake.On():
		err = errors.New("the circuit breaker was tripped: " + g.brake.Reason)
	default:
		return nil
	}
	g.remember(w.subject, false)
	e := w.decided(state.WriteNotSent)
	e.Reason, e.NotSent = state.OneLine(err.Error()), g.unsent.NotSent+1
	g.unsent = e
	g.record(e)
	return skipped(w.subject, "approved but not sent: "+e.Reason)
}

// settle decides about a write if that is possible now; false means that it stays
// pending. The lock is held.
func (g *Gate) settle(w *waiting) bool {
	w.asked.Braked = false
	if g.closed && (w.unasked == "" || g.brake.On()) {
		g.finish(w, "", "the session is ending")
		return true
	}
	by := "the user"
	if !w.yes {
		by = cmp.Or(w.unasked, g.approval(w.subject))
	}
	if by == "" {
		if g.asks {
			return false
		}
		reason := "rejected: no rule of the policy allows it"
		if g.policy == nil {
			reason = "rejected: no policy is set, and interactive approval is off"
		}
		g.skip(w, reason)
		return true
	}
	if !g.brake.On() && w.unasked == "" {
		g.count(w.subject)
	}
	if g.brake.On() {
		w.asked.Braked = true
		return false
	}
	g.remember(w.subject, true)
	g.finish(w, by, "")
	return true
}

// approval describes what allows a write without asking; empty if nothing does.
func (g *Gate) approval(w subject) string {
	for _, grant := range g.grants {
		if grant.covers(w) {
			return "the user: " + grant.String()
		}
	}
	rule, _ := g.policy.covering(w)
	return rule
}

// skip answers a write with an error. The lock is held.
func (g *Gate) skip(w *waiting, reason string) {
	g.remember(w.subject, false)
	if len(g.skips) >= maxRemembered {
		clear(g.skips)
	}
	g.skips[w.subject.identity()]++
	g.finish(w, "", reason)
}

// finish approves a write, or answers it with an error for a reason. If it was pending,
// that is recorded. The lock is held.
func (g *Gate) finish(w *waiting, by, reason string) {
	if w.asked.ID != 0 {
		e := w.decided(state.WriteApproved)
		if e.By = by; reason != "" {
			e.Outcome, e.Reason = state.WriteRejected, reason
		}
		g.record(e)
	}
	if reason != "" {
		w.over <- outcome{err: skipped(w.subject, reason)}
		return
	}
	w.over <- outcome{by: by}
}

// decided is the event for the decision about a pending write.
func (w *waiting) decided(o state.WriteOutcome) state.WriteDecided {
	return state.WriteDecided{ID: w.asked.ID, Controller: w.subject.controller, Outcome: o, Text: w.asked.Text}
}

// remember stores what Events depend on.
func (g *Gate) remember(w subject, sent bool) {
	if len(g.told) >= maxRemembered {
		clear(g.told)
	}
	g.told[place{w.controller, w.object.Key()}] = sent
	if w.cause.Key != "" {
		g.told[place{w.controller, w.cause.Key}] = sent
	}
}

// event decides about an Event immediately.
func (g *Gate) event(p guard.Pending) error {
	w := subjectOf(p)
	about, known := p.About()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return skipped(w, "the session is ending")
	case g.brake.On():
		return skipped(w, "circuit breaker tripped: "+g.brake.Reason)
	}
	if rule, ok := g.policy.covering(w); ok {
		p.Approved(rule)
		return nil
	}
	if known && g.told[place{w.controller, about.Key()}] {
		p.Approved("the write that it reports")
		return nil
	}
	return skipped(w, "rejected: the write that it reports was not sent")
}

// Questions are the pending writes, oldest first.
func (g *Gate) Questions() []state.Question {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]state.Question, len(g.waiting))
	for i, w := range g.waiting {
		out[i] = w.asked
	}
	return out
}

// Errors of Answer.
var (
	ErrNoQuestion = errors.New("no longer pending")
	ErrNoKey      = errors.New("this write has no queue key, and its object has no name")
)

// Answer answers a pending approval. An answer for more than one write also approves
// all pending and future writes that it covers.
func (g *Gate) Answer(id int, a state.Answer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.IndexFunc(g.waiting, func(w *waiting) bool { return w.asked.ID == id })
	if at < 0 {
		return ErrNoQuestion
	}
	w := g.waiting[at]
	switch a {
	case state.AnswerSkip:
		g.waiting = slices.Delete(g.waiting, at, at+1)
		g.skip(w, "rejected by the user")
		g.notify()
		return nil
	case state.AnswerYes:
		w.yes = true
	default:
		grant, ok := grantFor(a, w.subject)
		if !ok {
			if a == state.AnswerKey {
				return ErrNoKey
			}
			return fmt.Errorf("%q is not a valid answer", a)
		}
		g.given++
		grant.At, grant.number, grant.question, grant.asked = g.now(), g.given, id, w.subject.controller
		g.grants = append(g.grants, grant)
		g.record(grant.given())
	}
	g.settleAll()
	return nil
}

// settleAll decides about all pending writes, oldest first.
func (g *Gate) settleAll() {
	g.waiting = slices.DeleteFunc(g.waiting, func(w *waiting) bool {
		braked := w.asked.Braked
		settled := g.settle(w)
		if !settled && w.asked.Braked != braked {
			g.record(state.WriteHeld{Question: w.asked})
		}
		return settled
	})
	g.notify()
}

// Restate records again which writes are pending, what is approved and whether the
// circuit breaker is tripped, after events of the journal were lost.
func (g *Gate) Restate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.record(state.ControlsRestated{Source: state.SourceApprovals})
	for _, w := range g.waiting {
		g.record(state.WriteHeld{Question: w.asked})
	}
	for _, grant := range g.grants {
		g.record(grant.given())
	}
	if g.brake.On() {
		g.record(g.brake.tripped(nil))
	}
	if g.unsent.NotSent > 0 {
		g.record(g.unsent)
	}
}

// Changed is closed at the next change of Questions, Grants or Braked.
func (g *Gate) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *Gate) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Close rejects pending and later writes, except for those that need no approval: a
// controller may release its lease. Controllers can then stop: none of their writes is
// pending.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.settleAll()
}

// record records an event. The lock is held, so that the order of events is correct.
func (g *Gate) record(e state.Event) {
	if g.rec != nil {
		g.rec.Record(e)
	}
}
