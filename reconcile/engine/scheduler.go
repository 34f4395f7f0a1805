package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// kube-scheduler's own defaults of --kube-api-qps and --kube-api-burst.
const (
	schedulerQPS   = 50
	schedulerBurst = 100
)

// scheduling is kube-scheduler at work on a cluster.
type scheduling struct {
	*scheduler.Scheduler
	cancel context.CancelFunc
	ended  chan struct{}
}

// Stop ends it, and waits for its end within ctx.
func (w *scheduling) Stop(ctx context.Context) error {
	w.cancel()
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop kube-scheduler: %w", context.Cause(ctx))
	}
}

// health is a check as the loops have one each.
func (w *scheduling) health(*http.Request) error {
	select {
	case <-w.ended:
		return errors.New("it has ended")
	default:
		return nil
	}
}

// startScheduler runs kube-scheduler until the engine stops.
func (e *Engine) startScheduler(ctx context.Context, conn componentbaseconfig.ClientConnectionConfiguration) error {
	base, _ := e.connection.get()
	config := rest.CopyConfig(base) // which has the limits already
	config.ContentType, config.AcceptContentTypes = conn.ContentType, conn.AcceptContentTypes
	sched, err := scheduler.New(scheduler.Options{Config: config, Limited: true, StartWithin: cmp.Or(e.spec.SchedulerStart, scheduler.DefaultStartWithin)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, e.logger))
	work := &scheduling{Scheduler: sched, cancel: cancel, ended: make(chan struct{})}
	e.work.scheduler.Store(work) // before it writes
	if err := sched.Start(ctx); err != nil {
		cancel()
		e.work.scheduler.Store(nil)
		var unsynced *scheduler.NotSyncedError
		if errors.As(err, &unsynced) {
			return &UnsyncedError{Informers: unsynced.Informers, After: unsynced.Within}
		}
		return err
	}
	go func() {
		defer close(work.ended)
		sched.Wait()
	}()
	e.stops.add(work.Stop)
	if gate := e.approvals.gate; gate != nil {
		e.stops.add(func(context.Context) error { gate.Close(); return nil }) // no binding stands there when it is to end
	}
	e.addProbe(sched)
	e.Note("controllers", "kube-scheduler runs, with upstream's default profile")
	return nil
}

// boundDry tells kube-scheduler that a binding of its was answered in a dry run.
func (e *Engine) boundDry(w state.WriteFinished) {
	if work := e.work.scheduler.Load(); work != nil && w.Result == state.WriteDry && w.Subresource == "binding" {
		work.BoundDry(w.Object.Namespace, w.Object.Name)
	}
}

// HealthChecks are those of the loops, or of kube-scheduler; none before either runs.
func (e *Engine) HealthChecks() map[string]func(*http.Request) error {
	if work := e.work.scheduler.Load(); work != nil {
		return map[string]func(*http.Request) error{scheduler.Name: work.health}
	}
	if manager := e.work.manager.Load(); manager != nil {
		return withStalls(manager.HealthChecks(), e.journal.Snapshot)
	}
	return nil
}

// withStalls has the check of a controller fail while one of its queues is
// stalled.
func withStalls(checks map[string]func(*http.Request) error, snapshot func() *state.Snapshot) map[string]func(*http.Request) error {
	for name, check := range checks {
		checks[name] = func(req *http.Request) error {
			for q := range snapshot().Stalled() {
				if q.Controller == name {
					return fmt.Errorf("queue %s: %s", q.Queue, state.DescribeParts(*q).Text)
				}
			}
			return check(req)
		}
	}
	return checks
}

// unschedulable lists the pods that stay without a node, but for those that were
// bound in a dry run.
func (e *Engine) unschedulable() []scheduler.Unschedulable {
	if e.world.nodes != nil {
		return e.world.nodes.Unschedulable()
	}
	work := e.work.scheduler.Load()
	if work == nil {
		return nil
	}
	return slices.DeleteFunc(work.Unschedulable(), func(pod scheduler.Unschedulable) bool { return pod.Reason == scheduler.ReasonDry })
}

// mayScheduleDry refuses a dry run of kube-scheduler that would wait for lists which
// the user may not have.
func (e *Engine) mayScheduleDry(ctx context.Context, config *rest.Config) error {
	use := rights.DryRun
	switch e.spec.Mode {
	case state.ModeDryRunServer:
		use = rights.DryRunServer
	case state.ModeActive: // on a sandbox of this user
		return nil
	}
	name := e.spec.Cluster.Context
	reviews, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for context %q: %w", name, err)
	}
	return lead.Lacking(ctx, reviews, e.spec.Cluster.Context, e.spec.Namespace, rights.OfLoops([]rights.Loop{scheduler.Rights()}, rights.Options{Mode: use}), use, true)
}
