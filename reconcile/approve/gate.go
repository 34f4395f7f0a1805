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

// Options configure a Gate. The zero Options let nothing out.
type Options struct {
	// Policy lets writes out without a question; nil lets out none.
	Policy *Policy
	// Ask has the other writes wait for an answer. Without it they are skipped.
	Ask bool
	// Recorder takes the notes.
	Recorder state.Recorder
	// Unasked says why a write needs nobody's leave, in words for the record, or
	// nothing. Such a write counts in no limit, and waits for the brake alone. It
	// must not block.
	Unasked func(guard.Pending) string
	// OnBrake gives sentences for the note that the brake is on: what that means
	// where the gate stands, and the next step. It may be nil, and must not call the
	// gate.
	OnBrake func() []string
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Broken breaks the gate, for tests of the tests.
	Broken Broken
}

// Broken switches the gate off, so that a test which is to catch its absence can
// be seen to fail. It has no place outside tests.
type Broken struct {
	// NeverAsks lets every write out unasked.
	NeverAsks bool
}

// maxRemembered bounds the memory of which writes were let out and skipped. When
// it is full it is emptied: Events then wait for a new answer, and counts of
// skips begin anew.
const maxRemembered = 1 << 14

// Gate decides about writes. Make one with New for each session, and give its
// Before to the guard.
type Gate struct {
	policy  *Policy
	asks    bool
	rec     state.Recorder
	unasked func(guard.Pending) string
	onBrake func() []string
	now     func() time.Time
	broken  Broken

	mu      sync.Mutex
	closed  bool
	last    int
	waiting []*waiting
	grants  []Grant
	brake   Brake
	// sent has the times of the writes let out in the last minute, deletes the
	// number of deletes let out; both since the brake was released.
	sent    []time.Time
	deletes int
	// told says of which objects the last write was let out, for Events.
	told    map[place]bool
	skips   map[string]int
	changed chan struct{}
	// unsent is what NotSent gives.
	unsent struct {
		n            int
		text, reason string
	}
}

// place is an object in a controller's eyes.
type place struct{ controller, key string }

// waiting is a write that stands at the gate.
type waiting struct {
	subject subject
	asked   state.Question
	// unasked is why it needs nobody's leave.
	unasked string
	// yes: the user has approved this one.
	yes bool
	// over is given the outcome, once.
	over chan outcome
}

type outcome struct {
	by  string
	err error
}

// New makes a gate.
func New(o Options) *Gate {
	g := &Gate{
		policy: o.Policy, asks: o.Ask, rec: o.Recorder, unasked: o.Unasked, onBrake: o.OnBrake, now: o.Now, broken: o.Broken,
		told: map[place]bool{}, skips: map[string]int{}, changed: make(chan struct{}),
	}
	if g.now == nil {
		g.now = time.Now
	}
	return g
}

// Asks reports whether writes wait for answers.
func (g *Gate) Asks() bool { return g.asks }

// Before is guard.Options.Before. It returns once the write may leave, or with
// the error that is its answer.
func (g *Gate) Before(ctx context.Context, p guard.Pending) error {
	if g.broken.NeverAsks {
		return nil
	}
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

// wait puts a question and returns with its outcome.
func (g *Gate) wait(ctx context.Context, w *waiting, text string) outcome {
	g.mu.Lock()
	if !g.settle(w) {
		g.last++
		s, q := w.subject, &w.asked
		q.ID, q.Since, q.Text = g.last, g.now(), text
		q.Skipped = g.skips[s.identity()]
		g.waiting = append(g.waiting, w)
		if !q.Braked {
			g.note(s.controller, false, "question %d: %s%s", q.ID, q.Text, forKey(s.cause.Key))
		}
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
		g.note(w.subject.controller, false, "question %d was withdrawn: its request was given up", w.asked.ID)
		g.notify()
	}
	return outcome{err: fmt.Errorf("it waited for an answer: %w", context.Cause(ctx))}
}

func forKey(key string) string {
	if key == "" {
		return ""
	}
	return ", for " + key
}

// again looks at a write that has waited once more before it leaves.
func (g *Gate) again(ctx context.Context, p guard.Pending, w *waiting, preview guard.Preview) error {
	err := p.Unchanged(ctx, preview)
	g.mu.Lock()
	defer g.mu.Unlock()
	// That has taken its time.
	switch {
	case err != nil:
	case g.closed:
		err = errors.New("the session is ending")
	case g.brake.On():
		err = errors.New("the brake was put on meanwhile: " + g.brake.Reason)
	default:
		return nil
	}
	reason := "it was approved, and not sent: " + state.OneLine(err.Error())
	g.remember(w.subject, false)
	g.unsent.n++
	g.unsent.text, g.unsent.reason = w.asked.Text, state.OneLine(err.Error())
	g.note(w.subject.controller, true, "question %d: %s", w.asked.ID, reason)
	return skipped(w.subject, reason)
}

// settle decides about a write as far as that can be done now; false means that
// it has to wait. The lock is held.
func (g *Gate) settle(w *waiting) bool {
	w.asked.Braked = false
	if g.closed && (w.unasked == "" || g.brake.On()) {
		w.finish("", skipped(w.subject, "the session is ending"))
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
		reason := "skipped: no rule of the policy allows it"
		if g.policy == nil {
			reason = "skipped: there is no policy that allows it, and nobody to ask"
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
	w.finish(by, nil)
	return true
}

// approval is what lets a write out without a question, in words; empty where
// nothing does.
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
	w.finish("", skipped(w.subject, reason))
}

func (w *waiting) finish(by string, err error) { w.over <- outcome{by, err} }

// remember keeps what Events go by.
func (g *Gate) remember(w subject, sent bool) {
	if len(g.told) >= maxRemembered {
		clear(g.told)
	}
	g.told[place{w.controller, w.object.Key()}] = sent
	if w.cause.Key != "" {
		g.told[place{w.controller, w.cause.Key}] = sent
	}
}

// event decides about an Event, at once.
func (g *Gate) event(p guard.Pending) error {
	w := subjectOf(p)
	about, known := p.About()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return skipped(w, "the session is ending")
	case g.brake.On():
		return skipped(w, "the brake is on: "+g.brake.Reason)
	}
	if rule, ok := g.policy.covering(w); ok {
		p.Approved(rule)
		return nil
	}
	if known && g.told[place{w.controller, about.Key()}] {
		p.Approved("the write that it tells of")
		return nil
	}
	return skipped(w, "skipped: no write that it could tell of was let out")
}

// Questions are the writes that wait, the first asked first.
func (g *Gate) Questions() []state.Question {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]state.Question, len(g.waiting))
	for i, w := range g.waiting {
		out[i] = w.asked
	}
	return out
}

// NotSent counts the writes that were approved after a wait and not sent after all,
// and says of the last what it was and why: "delete pods shop/web-1", "the object has
// changed meanwhile". A note of the journal follows each.
func (g *Gate) NotSent() (n int, text, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unsent.n, g.unsent.text, g.unsent.reason
}

// Errors of Answer.
var (
	ErrNoQuestion = errors.New("it is not asked any more")
	ErrNoKey      = errors.New("this write is made for no key of a queue, and of an object without a name")
)

// Answer answers a question. An answer that covers more lets go all that waits
// and is covered, and what comes later.
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
		g.skip(w, "skipped by the user")
		g.note(w.subject.controller, false, "question %d: skipped by the user", id)
		g.notify()
		return nil
	case state.AnswerYes:
		if !w.yes {
			w.yes = true
			g.note(w.subject.controller, false, "question %d: approved by the user", id)
		}
	default:
		grant, ok := grantFor(a, w.subject)
		if !ok {
			if a == state.AnswerKey {
				return ErrNoKey
			}
			return fmt.Errorf("%q is no answer", a)
		}
		grant.At = g.now()
		g.grants = append(g.grants, grant)
		g.note(w.subject.controller, false, "question %d: approved by the user, with %s", id, grant)
	}
	g.settleAll()
	return nil
}

// settleAll lets go what may go now, in the order in which it was asked.
func (g *Gate) settleAll() {
	g.waiting = slices.DeleteFunc(g.waiting, g.settle)
	g.notify()
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

// Close skips what waits and everything after it but what needs nobody's leave: a
// controller may give up its lease. Loops can end then: none of their writes stands
// here.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.settleAll()
}

// source is whose notes are of no controller.
const source = "approve"

func (g *Gate) note(of string, warning bool, format string, args ...any) {
	if g.rec != nil {
		g.rec.Record(state.Note{Source: of, Text: state.OneLine(fmt.Sprintf(format, args...)), Warning: warning})
	}
}
