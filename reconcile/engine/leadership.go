package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Leadership takes an engine that runs dry on a cluster to writing for real, and back. It
// leads at most once, as any process of this program: a goroutine that hangs in a term
// that is over must not find the gate of another one open.
type Leadership struct {
	e        *Engine
	election Election
	// dry is what the engine goes back to.
	dry     *rest.Config
	dryMode state.Mode

	mu sync.Mutex
	// is the standing that the journal was told last.
	is   state.ActiveChanged
	term *lead.Tenure
	// cancel ends the term, with the reason; over is closed when it has ended.
	cancel  context.CancelCauseFunc
	over    chan struct{}
	closing bool
}

// LeadershipPlan is what would become of an election.
type LeadershipPlan struct {
	Context, Server, Version string
	// Lease is "namespace/name". Holder has it, since when, as the lease says; nobody
	// where it is empty.
	Lease, Holder    string
	Since, RenewTime time.Time
	// Controllers would write; Off were named and cannot run, each with the reason.
	Controllers, Off []string
	// Asks: their writes need a yes, or a policy's. NoWait: a live holder ends it.
	Asks, NoWait bool
}

// NewLeadership is for an engine that runs dry on a cluster. Stop ends it, before anything
// else of the engine.
func (e *Engine) NewLeadership(o Election) *Leadership {
	a := &Leadership{e: e, election: o}
	a.dry, a.dryMode = e.connection.get()
	e.journal.OnControlLoss(a.restate)
	e.stops.add(a.stop)
	return a
}

// stands changes how the process stands, and tells the journal. The caller holds mu.
func (a *Leadership) stands(is state.ActiveChanged) {
	a.is = is
	a.e.journal.Record(is)
}

// restate tells the journal again how the process stands, after entries were lost.
func (a *Leadership) restate() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.e.journal.Record(state.ControlsRestated{Source: state.SourceActive})
	a.e.journal.Record(a.is)
}

// Again is why the process cannot stand for election; empty where it can.
func (a *Leadership) Again() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.is.Again
}

var (
	errSteppedDown = errors.New("the user has stepped down")
	errSessionEnds = errors.New("the session ends")
)

// Prepare says what would happen if these controllers, or those that run where none is
// named, were to write: it asks the cluster, and changes nothing.
func (a *Leadership) Prepare(ctx context.Context, names []string) (LeadershipPlan, error) {
	c, err := a.candidacy(names)
	if err != nil {
		return LeadershipPlan{}, err
	}
	if _, err := election.SystemClock(); err != nil {
		return LeadershipPlan{}, err
	}
	said, err := c.Preflight(ctx)
	if err != nil {
		return LeadershipPlan{}, explain.Cause(ctx, err)
	}
	loops, off, err := controllers.Rights(c.Component, c.Namespace)
	if err != nil {
		return LeadershipPlan{}, err
	}
	lease := c.Component.Generic.LeaderElection
	plan := LeadershipPlan{
		Context: c.Context, Server: c.Target.Server(), Version: said.Version,
		Lease:  state.Ref{Namespace: lease.ResourceNamespace, Name: lease.ResourceName}.Key(),
		Holder: said.Lease.Holder, Since: said.Lease.Since, RenewTime: said.Lease.RenewTime,
		Off: off, Asks: a.e.approvals.gate != nil, NoWait: c.NoWait,
	}
	for _, l := range loops {
		plan.Controllers = append(plan.Controllers, l.Name)
	}
	return plan, nil
}

// ErrNoneNamed is returned where no controller is named that is to write, and none runs.
var ErrNoneNamed = errors.New("no controller is named that is to write")

// candidacy is of the controllers named or, where none are, of those that run.
func (a *Leadership) candidacy(names []string) (*lead.Candidacy, error) {
	if again := a.Again(); again != "" {
		return nil, errors.New(again)
	}
	if len(names) == 0 {
		for _, status := range a.e.Manager().Statuses() {
			if status.Status == state.ControllerRunning || status.Status == state.ControllerStarting {
				names = append(names, status.Controller)
			}
		}
	}
	if len(names) == 0 {
		return nil, ErrNoneNamed
	}
	component := a.e.Component().DeepCopy()
	component.Generic.Controllers = names
	c := a.e.candidacy(component, a.election)
	c.Progress = func(string) {}
	if _, _, err := controllers.Rights(component, c.Namespace); err != nil {
		return nil, err
	}
	return c, nil
}

// Begin stands for election with these controllers, where typed is the context's name. It
// returns when the election is set up; the journal tells how it goes on.
func (a *Leadership) Begin(ctx context.Context, names []string, typed string) error {
	c, err := a.candidacy(names)
	if err != nil {
		return err
	}
	confirmed, err := lead.Confirm(c.Context, typed)
	if err != nil {
		return fmt.Errorf("%q was typed, and the context is %q: nothing was done", typed, c.Context)
	}
	a.mu.Lock()
	if a.is.Phase != state.ActiveOff || a.closing {
		a.mu.Unlock()
		return errors.New("this process already takes part in leader election")
	}
	a.stands(state.ActiveChanged{Phase: state.ActiveCandidate})
	a.mu.Unlock()

	t, err := c.Stand(ctx, confirmed)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && a.closing {
		err = errSessionEnds
	}
	if err != nil {
		a.stands(state.ActiveChanged{})
		return explain.Cause(ctx, err)
	}
	var running context.Context
	running, a.cancel = context.WithCancelCause(context.Background())
	a.term, a.over = t, make(chan struct{})
	go a.serve(running, a.cancel, t, a.over)
	return nil
}

// serve goes through a term: it waits for the lease, leads, and goes back to
// observing.
func (a *Leadership) serve(ctx context.Context, cancel context.CancelCauseFunc, t *lead.Tenure, over chan struct{}) {
	defer close(over)
	err := t.Acquire(ctx)
	acquired := err == nil
	if acquired {
		a.set(state.ActiveLeading)
		go func() {
			select {
			case <-t.Lost():
				cancel(t.Err())
			case <-ctx.Done():
			}
		}()
		err = a.replaceLoops(ctx, t)
	}
	if err == nil {
		<-ctx.Done()
		err = context.Cause(ctx)
	}
	cancel(err)
	a.conclude(t, err, acquired)
}

// stepDownWithin is how long the loops, their writes and the lease may take to end
// while the screen goes on. The lease expires by itself where that is not enough.
const stepDownWithin = 10 * time.Second

// replaceLoops stops what runs dry, and starts the loops that were confirmed
// through the election's gate.
func (a *Leadership) replaceLoops(ctx context.Context, t *lead.Tenure) error {
	stopping, cancel := context.WithTimeout(ctx, stepDownWithin)
	defer cancel()
	if err := a.e.Manager().Stop(stopping); err != nil {
		return fmt.Errorf("stop the dry-run controllers: %w", err)
	}
	a.e.tap.Forget()
	a.e.journal.Record(a.e.started(state.ModeActive, t.Context, t.Version))
	return t.Lead(ctx)
}

// conclude ends a term and has the engine observe. Where it acquired the lease, the
// loops that ran dry were stopped.
func (a *Leadership) conclude(t *lead.Tenure, reason error, acquired bool) {
	a.ends(t, reason)
	ending, cancel := context.WithTimeout(context.Background(), stepDownWithin)
	defer cancel()
	if err := t.End(ending); err != nil {
		a.e.journal.Record(state.Note{Source: "election", Warning: true, Text: oneLine(err)})
	}
	var again string
	switch err := a.observe(ending, t); {
	case !acquired: // nothing has changed
	case err != nil:
		again = "restart kctl-ctrl: " + oneLine(err)
		a.e.journal.Record(state.Note{Source: "election", Warning: true, Text: oneLine(err)})
	default:
		again = "a process can lead only once: restart kctl-ctrl"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	over := a.is
	over.Phase, over.Again = state.ActiveOff, again
	a.stands(over)
}

// ends says how a term ends, where the user did not end it.
func (a *Leadership) ends(t *lead.Tenure, reason error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	is := state.ActiveChanged{Phase: state.ActiveEnding}
	var lost *election.LostError
	switch {
	case errors.Is(reason, errSteppedDown), errors.Is(reason, errSessionEnds):
	case errors.As(reason, &lost):
		is.Ended, is.Reason, is.EndedAt = "lease lost", lost.Reason, time.Now().UTC()
	default:
		is.Ended, is.EndedAt, is.Reason = "not active", time.Now().UTC(), oneLine(reason)
	}
	a.stands(is)
}

// observe has the engine go on without a loop, where all have ended.
func (a *Leadership) observe(ctx context.Context, t *lead.Tenure) error {
	a.mu.Lock()
	closing := a.closing
	a.mu.Unlock()
	old := a.e.Manager()
	switch {
	case closing:
		return nil
	case !old.Ended():
		return errors.New("controllers did not stop in time; their writes are blocked")
	}
	a.e.tap.Forget()
	a.e.connection.set(a.dry, a.dryMode)
	a.e.journal.Record(a.e.started(a.dryMode, t.Context, t.Version))
	component := a.e.Component().DeepCopy()
	component.Generic.Controllers = nil
	err := a.e.StartControllers(context.WithoutCancel(ctx), controllers.Config{Component: component, Namespace: t.Namespace, CheckAccess: true})
	if err != nil {
		return fmt.Errorf("observe the context again: %w", err)
	}
	return nil
}

// End steps down: it stops the controllers and gives the lease back.
func (a *Leadership) End(ctx context.Context) error {
	over := a.end(errSteppedDown)
	if over == nil {
		return errors.New("this process does not take part in leader election")
	}
	for _, c := range a.e.Manager().Statuses() {
		if c.Status == state.ControllerRunning || c.Status == state.ControllerStarting {
			a.e.journal.Record(state.ControllerRequested{Controller: c.Controller, Action: state.ActionStop})
		}
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Leadership) end(reason error) (over <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if errors.Is(reason, errSessionEnds) {
		a.closing = true
	}
	if a.cancel == nil {
		return nil
	}
	a.cancel(reason)
	return a.over
}

// stop is called when the engine stops: before anything else of it.
func (a *Leadership) stop(ctx context.Context) error {
	over := a.end(errSessionEnds)
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("release the lease: %w; it expires on its own", context.Cause(ctx))
	}
}

func (a *Leadership) set(phase state.ActivePhase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	is := a.is
	is.Phase = phase
	a.stands(is)
}

// WritesForReal reports whether the engine's controllers write to a cluster of others.
func (e *Engine) WritesForReal() bool {
	return e.Mode() == state.ModeActive && e.world.sandbox == nil
}

func oneLine(err error) string { return state.OneLine(err.Error()) }
