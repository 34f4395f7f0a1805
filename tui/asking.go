package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

const (
	// askSoonest is the least time between two questions whose answer has
	// changed, askLatest the time after which a question is asked again in any
	// case.
	askSoonest = 2 * time.Second
	askLatest  = 15 * time.Second
	// askShare bounds the part of the time that a question is under way: one
	// that took a second is asked every eleven at most.
	askShare = 10
)

// snapshotAtOnce is up to how many objects pages work out what they show of each
// snapshot; of more of them in a small part of the time and, in a replay, whose clock
// may stand still, at ticks.
const snapshotAtOnce = 2000

// asking is a question that a page asks again and again while it is shown: one
// at a time, not too often, and soon after something has changed. What was
// answered stays until the next answer.
type asking struct {
	stale
	cancel context.CancelFunc
	// asked is when the last question was put, got when it was answered, took
	// how long that was; err is of the last answer.
	asked, got time.Time
	took       time.Duration
	err        error
	// changed: the answer would be another one now.
	changed bool
	// pace makes all times longer for what costs the server more; 1 where it is
	// zero.
	pace int
}

// pacing keeps what is worked out of snapshots from being worked out of each: it
// takes a small part of the time.
type pacing struct {
	at   time.Time
	took time.Duration
}

// paceShare bounds that part: what takes 50 ms is done every two seconds at most.
const paceShare = 40

// due says whether it is time. In a replay a tick always is: the clock there may
// stand still.
func (p *pacing) due(e *env, msg tea.Msg, least time.Duration) bool {
	if _, tick := msg.(tickMsg); tick && e.Player != nil {
		return true
	}
	return p.at.IsZero() || e.now.Sub(p.at).Abs() >= max(least, paceShare*p.took)
}

// flying: the question is under way.
func (a *asking) flying() bool { return a.cancel != nil }

// due says whether it is time to ask again.
func (a *asking) due(now time.Time) bool {
	wait := askLatest
	if a.changed {
		wait = askSoonest
	}
	wait *= time.Duration(max(a.pace, 1))
	return !a.flying() && (a.asked.IsZero() || now.Sub(a.asked) >= max(wait, askShare*a.took))
}

// stop gives a question up; its answer will not count.
func (a *asking) stop() {
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
		a.next()
		a.asked = time.Time{}
	}
}

// forget is stop, for a question about something else.
func (a *asking) forget() {
	a.stop()
	*a = asking{stale: a.stale, pace: a.pace}
}

// done takes an answer in; false for one that does not count any more.
func (a *asking) done(round int, now time.Time, err error) bool {
	if !a.is(round) || a.cancel == nil {
		return false
	}
	a.cancel()
	a.cancel = nil
	a.got, a.took, a.err = now, now.Sub(a.asked), err
	return true
}

// askNow puts the question, in place of one that is under way.
func askNow[T any](a *asking, e *env, p pageID, question func(context.Context) (T, error)) tea.Cmd {
	a.stop()
	ctx, cancel := context.WithCancel(e.ctx)
	a.cancel, a.asked, a.changed = cancel, e.now, false
	return ask(p, a.next(), func() (T, error) { return question(ctx) })
}

// since says how old an answer is and what is wrong with it, for a title.
func (a *asking) since(e *env) []string {
	var out []string
	// An answer mostly comes at once: a word for it would only flicker.
	if a.flying() && (a.got.IsZero() || e.now.Sub(a.asked) >= time.Second) {
		out = append(out, "asking…")
	}
	if a.err != nil {
		out = append(out, "FAILED: "+a.err.Error())
	}
	if old := e.now.Sub(a.got); !a.got.IsZero() && old >= (askLatest+askSoonest)*time.Duration(max(a.pace, 1)) {
		out = append(out, "as of "+widget.Age(old)+" ago")
	}
	return out
}
