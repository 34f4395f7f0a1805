package engine

import (
	"context"

	"k8s.io/client-go/rest"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// candidacy is what stands for election with these controllers.
func (e *Engine) candidacy(component *kubectrlmgrconfig.KubeControllerManagerConfiguration, o Election) *lead.Candidacy {
	return &lead.Candidacy{
		Context: e.spec.Cluster.Context, Target: e.spec.Cluster.Target, Component: component, Namespace: e.spec.Namespace,
		Scheduler: e.spec.Scheduler, Impersonate: e.spec.Impersonate, NoWait: o.NoWait, Allowed: o.Allowed,
		Work: led{e}, Recorder: e.journal, Progress: e.progress,
	}
}

// led is what an engine runs, while the process leads.
type led struct{ *Engine }

// Guarded implements lead.Work.
func (l led) Guarded(o guard.Options) (connect.Wrap, error) {
	o.Before = l.approvals.ofLoops()
	return l.Engine.Guarded(o)
}

// StartWith implements lead.Work.
func (l led) StartWith(ctx context.Context, config *rest.Config, component *kubectrlmgrconfig.KubeControllerManagerConfiguration) error {
	l.connection.set(config, state.ModeActive)
	return l.startWork(ctx, component, l.spec.Namespace)
}

// StopWork implements lead.Work.
func (l led) StopWork(ctx context.Context) error {
	if gate := l.approvals.gate; gate != nil {
		gate.Close() // no worker stands there when it is to end
	}
	return l.stopWork(ctx)
}

// startElected stands for election and, when it is won, starts the controllers to write
// for real. When the lease is lost later, the engine is Lost: what still runs is kept from
// writing by the election's gate.
func (e *Engine) startElected(ctx context.Context) error {
	c := e.spec.Cluster
	if c.Election.Allowed != nil {
		if err := c.Election.Allowed(); err != nil {
			return err
		}
	}
	confirmed, err := lead.Confirm(c.Context, c.Election.Confirm)
	if err != nil {
		return err
	}
	if err := emulate(c.KubernetesVersion); err != nil {
		return err
	}
	component, err := e.complete()
	if err != nil {
		return err
	}
	t, err := e.candidacy(component, *c.Election).Stand(ctx, confirmed)
	if err != nil {
		return err
	}
	e.work.component = component
	started := e.started(state.ModeActive, c.Context, t.Version)
	started.Elected = true
	e.journal.Record(started)
	e.progress("joining leader election")
	e.stops.add(t.End)
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if c.Election.Bound != nil {
		bounded, cancel = c.Election.Bound(ctx)
	}
	err = t.Acquire(bounded)
	cancel()
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	e.stops.add(func(context.Context) error { close(stopped); return nil })
	go func() {
		select {
		case <-t.Lost():
			e.lost.end(t.Err())
		case <-stopped:
		}
	}()
	e.progress("starting " + e.whatRuns())
	return t.Lead(ctx)
}
