package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// screenActive takes the session's loops from a dry run to writing for real, and
// back. It leads at most once, as any process of this program: a goroutine that
// hangs in a term that is over must not find the gate of another one open.
type screenActive struct {
	o *tuiOptions
	s *session
	// dry is what the session goes back to.
	dry     *rest.Config
	dryMode state.Mode

	mu sync.Mutex
	// is the standing that the journal was told last.
	is   state.ActiveChanged
	term *tenure
	// cancel ends the term, with the reason; over is closed when it has ended.
	cancel  context.CancelCauseFunc
	over    chan struct{}
	closing bool
}

var _ port.Active = (*screenActive)(nil)

// newScreenActive is for a session that runs dry on a context.
func newScreenActive(o *tuiOptions, s *session) *screenActive {
	a := &screenActive{o: o, s: s}
	a.dry, a.dryMode = s.connection()
	s.hub.OnControlLoss(a.restate)
	return a
}

// stands changes how the process stands, and tells the journal. The caller holds mu.
func (a *screenActive) stands(is state.ActiveChanged) {
	a.is = is
	a.s.hub.Record(is)
}

// restate tells the journal again how the process stands, after entries were lost.
func (a *screenActive) restate() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.s.hub.Record(state.ControlsRestated{Source: state.SourceActive})
	a.s.hub.Record(a.is)
}

var (
	errSteppedDown = errors.New("the user has stepped down")
	errSessionEnds = errors.New("the session ends")
)

// Prepare implements port.Active.
func (a *screenActive) Prepare(ctx context.Context, names []string) (port.ActivePlan, error) {
	c, err := a.standing(names)
	if err != nil {
		return port.ActivePlan{}, err
	}
	switch err := a.o.refuse(c.context, len(c.component.Generic.Controllers) > 0); {
	case errors.Is(err, errNoneChosen):
		return port.ActivePlan{}, fmt.Errorf("no loop is named that is to write to context %q: start loops dry first, with s on page 1, or name them as in :active deployment,replicaset", c.context)
	case err != nil:
		return port.ActivePlan{}, err
	}
	if _, err := election.SystemClock(); err != nil {
		return port.ActivePlan{}, err
	}
	said, err := a.o.preflight(ctx, c)
	if err != nil {
		return port.ActivePlan{}, explain.Cause(ctx, err)
	}
	loops, off, err := controllers.Rights(c.component, *a.o.kubeconfig.Namespace)
	if err != nil {
		return port.ActivePlan{}, err
	}
	lease := c.component.Generic.LeaderElection
	plan := port.ActivePlan{
		Context: c.context, Server: c.target.Server(), Version: said.version,
		Lease:  state.Ref{Namespace: lease.ResourceNamespace, Name: lease.ResourceName}.Key(),
		Holder: said.lease.Holder, Since: said.lease.Since, RenewTime: said.lease.RenewTime,
		Off: off, Asks: a.s.approval.gate != nil, NoWait: a.o.elected.noWait,
	}
	for _, l := range loops {
		plan.Controllers = append(plan.Controllers, l.Name)
	}
	return plan, nil
}

// standing says what would stand: the loops named or, where none are, those that
// run.
func (a *screenActive) standing(names []string) (standing, error) {
	c := *a.s.foreign
	a.mu.Lock()
	again := a.is.Again
	a.mu.Unlock()
	switch {
	case again != "":
		return c, errors.New(again)
	case !elects(a.o.flags, c.target):
		return c, fmt.Errorf("context %q leads to a sandbox of yours, where writing takes no election: use 'run --active', or start the screen with --leader-elect to hold one there", c.context)
	}
	if len(names) == 0 {
		for _, status := range a.s.manager.Load().Statuses() {
			if status.Status == state.ControllerRunning || status.Status == state.ControllerStarting {
				names = append(names, status.Controller)
			}
		}
	}
	c.component = c.component.DeepCopy()
	c.component.Generic.Controllers = names
	if _, _, err := controllers.Rights(c.component, *a.o.kubeconfig.Namespace); err != nil {
		return c, err
	}
	return c, nil
}

// Begin implements port.Active.
func (a *screenActive) Begin(ctx context.Context, plan port.ActivePlan, typed string) error {
	c, err := a.standing(plan.Controllers)
	if err != nil {
		return err
	}
	confirmed, err := a.o.confirmTyped(c, typed)
	if err != nil {
		return err
	}
	a.mu.Lock()
	if a.is.Phase != state.ActiveOff || a.closing {
		a.mu.Unlock()
		return errors.New("this process stands for election already")
	}
	a.stands(state.ActiveChanged{Phase: state.ActiveCandidate})
	a.mu.Unlock()

	t, err := a.o.stand(ctx, a.s, c, confirmed, func(string) {})
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
func (a *screenActive) serve(ctx context.Context, cancel context.CancelCauseFunc, t *tenure, over chan struct{}) {
	defer close(over)
	err := t.acquire(ctx)
	acquired := err == nil
	if acquired {
		a.set(state.ActiveLeading)
		go func() {
			select {
			case <-t.e.Lost():
				cancel(t.e.Err())
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
func (a *screenActive) replaceLoops(ctx context.Context, t *tenure) error {
	stopping, cancel := context.WithTimeout(ctx, stepDownWithin)
	defer cancel()
	if err := a.s.manager.Load().Stop(stopping); err != nil {
		return fmt.Errorf("stop the loops that run dry: %w", err)
	}
	a.s.tap.Forget()
	a.s.hub.Record(t.started)
	return t.lead(ctx)
}

// conclude ends a term and has the session observe. Where it acquired the lease, the
// loops that ran dry were stopped.
func (a *screenActive) conclude(t *tenure, reason error, acquired bool) {
	a.ends(t, reason)
	ending, cancel := context.WithTimeout(context.Background(), stepDownWithin)
	defer cancel()
	if err := t.end(ending); err != nil {
		a.s.hub.Record(state.Note{Source: "election", Warning: true, Text: exit.Printable(err)})
	}
	var again string
	switch err := a.observe(ending, t); {
	case !acquired: // nothing has changed
	case err != nil:
		again = "start kctl-ctrl anew: " + exit.Printable(err)
		a.s.hub.Record(state.Note{Source: "election", Warning: true, Text: exit.Printable(err)})
	default:
		again = "this process has led, and a process leads only once: start kctl-ctrl anew"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	over := a.is
	over.Phase, over.Again = state.ActiveOff, again
	a.stands(over)
}

// ends says how a term ends, where the user did not end it.
func (a *screenActive) ends(t *tenure, reason error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	is := state.ActiveChanged{Phase: state.ActiveEnding}
	var lost *election.LostError
	switch {
	case errors.Is(reason, errSteppedDown), errors.Is(reason, errSessionEnds):
	case errors.As(reason, &lost):
		is.Ended, is.Reason, is.EndedAt = "lease lost", lost.Reason, time.Now().UTC()
	default:
		is.Ended, is.EndedAt, is.Reason = "not active", time.Now().UTC(), exit.Printable(reason)
	}
	a.stands(is)
}

// observe has the session go on without a loop, where all have ended.
func (a *screenActive) observe(ctx context.Context, t *tenure) error {
	a.mu.Lock()
	closing := a.closing
	a.mu.Unlock()
	old := a.s.manager.Load()
	switch {
	case closing:
		return nil
	case !old.Ended():
		return errors.New("loops have not ended in time; the gate of their writes is shut")
	}
	a.s.tap.Forget()
	a.s.connectBy(a.dry, a.dryMode)
	a.s.hub.Record(a.o.started(a.dryMode, t.context, t.started.Server))
	component := a.s.foreign.component.DeepCopy()
	component.Generic.Controllers = nil
	err := a.s.startLoops(context.WithoutCancel(ctx), controllers.Config{Component: component, Namespace: t.namespace, CheckAccess: true})
	if err != nil {
		return fmt.Errorf("observe the context again: %w", err)
	}
	return nil
}

// End implements port.Active.
func (a *screenActive) End(ctx context.Context) error {
	over := a.end(errSteppedDown)
	if over == nil {
		return errors.New("this process does not stand for election")
	}
	for _, c := range a.s.manager.Load().Statuses() {
		if c.Status == state.ControllerRunning || c.Status == state.ControllerStarting {
			a.s.hub.Record(state.ControllerRequested{Controller: c.Controller, Action: state.ActionStop})
		}
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *screenActive) end(reason error) (over <-chan struct{}) {
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

// stop is called when the session ends: before anything else of it.
func (a *screenActive) stop(ctx context.Context) error {
	over := a.end(errSessionEnds)
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("give the lease back: %w; it expires by itself", context.Cause(ctx))
	}
}

func (a *screenActive) set(phase state.ActivePhase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	is := a.is
	is.Phase = phase
	a.stands(is)
}

// writesForReal reports whether the session's loops write to a cluster of others.
func (s *session) writesForReal() bool {
	_, mode := s.connection()
	return mode == state.ModeActive && s.sandbox == nil
}

// namedLoops are those of --controllers; none where it is not set.
func (o *tuiOptions) namedLoops(s *session) []string {
	if !o.flags.Changed("controllers") {
		return nil
	}
	return slices.Clone(s.foreign.component.Generic.Controllers)
}
