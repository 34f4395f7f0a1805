package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/pflag"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/klog/v2"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// kube-scheduler's own defaults of --kube-api-qps and --kube-api-burst.
const (
	schedulerQPS   = 50
	schedulerBurst = 100
)

// addScheduler registers the flag that has kube-scheduler run in place of loops.
func (o *runOptions) addScheduler(flags *pflag.FlagSet) {
	flags.BoolVar(&o.scheduler, "scheduler", false, "run kube-scheduler instead of loops; with --active, while holding its lease")
}

// checkScheduler names what means nothing beside --scheduler.
func (o *runOptions) checkScheduler() error {
	switch {
	case !o.scheduler:
		return nil
	case o.sandboxed:
		return errors.New("--scheduler is about a cluster, and a sandbox has a kube-scheduler of its own: leave one of --scheduler and --sandbox out")
	case o.flags.Changed("controllers"):
		return errors.New("--scheduler and --controllers exclude each other, as kube-scheduler and kube-controller-manager have a lease each: run two processes")
	case o.impersonate:
		return errors.New("--impersonate-controllers is about loops, and kube-scheduler has no account of theirs: leave it out")
	case o.flags.Changed("untapped"):
		return errors.New("--untapped is about controllers, and --scheduler runs none: leave one of them out")
	case *o.kubeconfig.Namespace != "":
		return errors.New("--namespace with --scheduler: kube-scheduler places pods by what runs on the whole cluster: leave it out")
	}
	loops, err := controllers.NewOptions()
	if err != nil {
		return err
	}
	described := pflag.NewFlagSet("loops", pflag.ContinueOnError)
	loops.AddFlags(described)
	if set := changedOf(o.flags, described, "feature-gates", "kube-api-qps", "kube-api-burst", "kube-api-content-type"); set != "" {
		return fmt.Errorf("--%s is about loops, and --scheduler runs none: leave one of them out", set)
	}
	return nil
}

// complete reads the flags of the loops; where kube-scheduler runs, with its
// defaults.
func (o *runOptions) complete() (*kubectrlmgrconfig.KubeControllerManagerConfiguration, error) {
	if o.scheduler {
		o.controllers.DefaultThroughput(schedulerQPS, schedulerBurst)
	}
	component, err := o.controllers.Complete(controllers.Inputs{})
	if err == nil && o.scheduler && !o.flags.Changed("leader-elect-resource-name") {
		component.Generic.LeaderElection.ResourceName = election.Scheduler().Name
	}
	return component, err
}

// replaced is the component whose place this process takes.
func (o *runOptions) replaced() election.Component {
	if o.scheduler {
		return election.Scheduler()
	}
	return election.ControllerManager()
}

// whatRuns is what is started, in a sentence.
func (o *runOptions) whatRuns() string {
	if o.scheduler {
		return scheduler.Name
	}
	return "the loops"
}

// loopRights are what the loops, or kube-scheduler, need of an API server.
func (o *runOptions) loopRights(component *kubectrlmgrconfig.KubeControllerManagerConfiguration) ([]rights.Loop, error) {
	if o.scheduler {
		return []rights.Loop{scheduler.Rights()}, nil
	}
	loops, _, err := controllers.Rights(component, *o.kubeconfig.Namespace)
	if err != nil {
		return nil, fmt.Errorf("--controllers: %w", err)
	}
	return loops, nil
}

// lacking is an error if the user may not do on a context what is needed there.
func (o *runOptions) lacking(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewsGetter, name string, needs []rights.Need, mode rights.Mode) error {
	rules := rights.Merge(rights.Confine(needs, *o.kubeconfig.Namespace))
	var all []rights.Right
	for _, rule := range rules {
		all = append(all, rule.Rights()...)
	}
	missing, err := rights.Missing(ctx, reviews, all)
	if err != nil {
		return explain.Error(err, fmt.Sprintf("ask the API server of context %q what you may", name))
	}
	if len(missing) == 0 {
		return nil
	}
	who := "these loops do"
	if o.scheduler {
		who = "kube-scheduler does"
	}
	return fmt.Errorf("you may not do on context %q what %s: %s: '%s' prints a role for it", name, who, describeLacks(rights.Only(rules, missing)), o.rbacCommand(mode))
}

// mayScheduleDry refuses a dry run of kube-scheduler that would wait for lists which
// the user may not have.
func (o *runOptions) mayScheduleDry(ctx context.Context, s *session, name string, mode state.Mode) error {
	use := rights.DryRun
	switch mode {
	case state.ModeDryRunServer:
		use = rights.DryRunServer
	case state.ModeActive: // on a sandbox of this user
		return nil
	}
	reviews, err := authorizationclient.NewForConfig(s.config)
	if err != nil {
		return fmt.Errorf("make a client for context %q: %w", name, err)
	}
	return o.lacking(ctx, reviews, name, rights.OfLoops([]rights.Loop{scheduler.Rights()}, rights.Options{Mode: use}), use)
}

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

// startScheduler runs kube-scheduler until the session stops.
func (s *session) startScheduler(ctx context.Context, conn componentbaseconfig.ClientConnectionConfiguration) error {
	base, _ := s.connection()
	config := rest.CopyConfig(base) // which has the limits already
	config.ContentType, config.AcceptContentTypes = conn.ContentType, conn.AcceptContentTypes
	sched, err := scheduler.New(scheduler.Options{Config: config, Limited: true, StartWithin: s.scheduleWithin})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, s.logger))
	work := &scheduling{Scheduler: sched, cancel: cancel, ended: make(chan struct{})}
	s.scheduler.Store(work) // before it writes
	if err := sched.Start(ctx); err != nil {
		cancel()
		s.scheduler.Store(nil)
		var unsynced *scheduler.NotSyncedError
		if errors.As(err, &unsynced) {
			return &unsyncedError{informers: unsynced.Informers, after: unsynced.Within}
		}
		return err
	}
	go func() {
		defer close(work.ended)
		sched.Wait()
	}()
	s.onStop(work.Stop)
	if gate := s.approval.gate; gate != nil {
		s.onStop(func(context.Context) error { gate.Close(); return nil }) // no binding stands there when it is to end
	}
	s.addProbe(sched)
	s.note("controllers", "kube-scheduler runs, with upstream's default profile")
	return nil
}

// startWork runs what the session is for: the selected loops or kube-scheduler.
func (s *session) startWork(ctx context.Context, component *kubectrlmgrconfig.KubeControllerManagerConfiguration, namespace string) error {
	if s.schedules {
		return s.startScheduler(ctx, component.Generic.ClientConnection)
	}
	if err := s.startLoops(ctx, controllers.Config{Component: component, Namespace: namespace, CheckAccess: true}); err != nil {
		return err
	}
	return noneRuns(s.manager.Load().Statuses())
}

// stopWork ends what startWork started, if anything, and waits for its end.
func (s *session) stopWork(ctx context.Context) error {
	if manager := s.manager.Load(); manager != nil {
		return manager.Stop(ctx)
	}
	if work := s.scheduler.Load(); work != nil {
		return work.Stop(ctx)
	}
	return nil
}

// boundDry tells kube-scheduler that a binding of its was answered in a dry run.
func (s *session) boundDry(w state.WriteFinished) {
	if work := s.scheduler.Load(); work != nil && w.Result == state.WriteDry && w.Subresource == "binding" {
		work.BoundDry(w.Object.Namespace, w.Object.Name)
	}
}

// healthChecks are those of the loops, or of kube-scheduler; none before either runs.
func (s *session) healthChecks() map[string]func(*http.Request) error {
	if work := s.scheduler.Load(); work != nil {
		return map[string]func(*http.Request) error{scheduler.Name: work.health}
	}
	if manager := s.manager.Load(); manager != nil {
		return withStalls(manager.HealthChecks(), s.hub.Snapshot)
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
func (s *session) unschedulable() []scheduler.Unschedulable {
	if s.cluster != nil {
		return s.cluster.Unschedulable()
	}
	work := s.scheduler.Load()
	if work == nil {
		return nil
	}
	return slices.DeleteFunc(work.Unschedulable(), func(pod scheduler.Unschedulable) bool { return pod.Reason == scheduler.ReasonDry })
}
