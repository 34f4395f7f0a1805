package page

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
	AskLatest  = 15 * time.Second
	// askShare bounds the part of the time that a question is under way: one
	// that took a second is asked every eleven at most.
	askShare = 10
)

// SnapshotAtOnce is up to how many objects pages work out what they show of each
// snapshot; of more of them in a small part of the time and, in a replay, whose clock
// may stand still, at ticks.
const SnapshotAtOnce = 2000

// Asking is a question that a page asks again and again while it is shown: one
// at a time, not too often, and soon after something has changed. What was
// answered stays until the next answer.
type Asking struct {
	Stale
	cancel context.CancelFunc
	// Asked is when the last question was put, got when it was answered, took
	// how long that was; err is of the last answer.
	Asked, Got time.Time
	took       time.Duration
	Err        error
	// Changed: the answer would be another one now.
	Changed bool
	// Pace makes all times longer for what costs the server more; 1 where it is
	// zero.
	Pace int
}

// Pacing keeps what is worked out of snapshots from being worked out of each: it
// takes a small part of the time.
type Pacing struct {
	At   time.Time
	Took time.Duration
}

// paceShare bounds that part: what takes 50 ms is done every two seconds at most.
const paceShare = 40

// Due says whether it is time. In a replay a tick always is: the clock there may
// stand still.
func (p *Pacing) Due(e *Env, msg tea.Msg, least time.Duration) bool {
	if _, tick := msg.(TickMsg); tick && e.Player != nil {
		return true
	}
	return p.At.IsZero() || e.Now.Sub(p.At).Abs() >= max(least, paceShare*p.Took)
}

// Flying: the question is under way.
func (a *Asking) Flying() bool { return a.cancel != nil }

// Due says whether it is time to ask again.
func (a *Asking) Due(now time.Time) bool {
	wait := AskLatest
	if a.Changed {
		wait = askSoonest
	}
	wait *= time.Duration(max(a.Pace, 1))
	return !a.Flying() && (a.Asked.IsZero() || now.Sub(a.Asked) >= max(wait, askShare*a.took))
}

// Stop gives a question up; its answer will not count.
func (a *Asking) Stop() {
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
		a.Next()
		a.Asked = time.Time{}
	}
}

// Forget is stop, for a question about something else.
func (a *Asking) Forget() {
	a.Stop()
	*a = Asking{Stale: a.Stale, Pace: a.Pace}
}

// Done takes an answer in; false for one that does not count any more.
func (a *Asking) Done(round int, now time.Time, err error) bool {
	if !a.Is(round) || a.cancel == nil {
		return false
	}
	a.cancel()
	a.cancel = nil
	a.Got, a.took, a.Err = now, now.Sub(a.Asked), err
	return true
}

// AskNow puts the question, in place of one that is under way.
func AskNow[T any](a *Asking, e *Env, p ID, question func(context.Context) (T, error)) tea.Cmd {
	a.Stop()
	ctx, cancel := context.WithCancel(e.Ctx)
	a.cancel, a.Asked, a.Changed = cancel, e.Now, false
	return Ask(p, a.Next(), func() (T, error) { return question(ctx) })
}

// Since says how old an answer is and what is wrong with it, for a title.
func (a *Asking) Since(e *Env) []string {
	var out []string
	// An answer mostly comes at once: a word for it would only flicker.
	if a.Flying() && (a.Got.IsZero() || e.Now.Sub(a.Asked) >= time.Second) {
		out = append(out, "asking…")
	}
	if a.Err != nil {
		out = append(out, "FAILED: "+a.Err.Error())
	}
	if old := e.Now.Sub(a.Got); !a.Got.IsZero() && old >= (AskLatest+askSoonest)*time.Duration(max(a.Pace, 1)) {
		out = append(out, "as of "+widget.Age(old)+" ago")
	}
	return out
}
