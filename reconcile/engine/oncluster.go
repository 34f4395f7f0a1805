package engine

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/lead"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// startOnCluster runs the controllers, or kube-scheduler, against the cluster of a
// context.
func (e *Engine) startOnCluster(ctx context.Context) error {
	c, mode := e.spec.Cluster, e.spec.Mode
	if mode == state.ModeActive && c.Election != nil {
		return e.startElected(ctx)
	}
	wrap, err := e.guardFor(ctx, c.Target, mode)
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
	limits := connect.Limits{QPS: component.Generic.ClientConnection.QPS, Burst: int(component.Generic.ClientConnection.Burst)}
	config, err := c.Target.Config(wrap, limits)
	if err != nil {
		return err
	}
	e.connection.set(config, mode)
	if err := lead.ActAsOne(e.spec.Impersonate, config); err != nil {
		return err
	}
	version, err := e.connect(ctx, config)
	if err != nil {
		return err
	}
	e.journal.Record(e.started(mode, c.Context, version))
	e.work.component = component
	if e.spec.Scheduler {
		if err := e.mayScheduleDry(ctx, config); err != nil {
			return err
		}
	}
	e.progress("starting " + e.whatRuns())
	return e.startWork(ctx, component, e.spec.Namespace)
}

// connect asks the API server of the context for its version.
func (e *Engine) connect(ctx context.Context, config *rest.Config) (version string, err error) {
	name := e.spec.Cluster.Context
	e.progress("connecting to " + name)
	client, err := discovery.NewDiscoveryClientForConfig(connect.ForQuestions(config))
	if err != nil {
		return "", fmt.Errorf("make a client for context %q: %w", name, err)
	}
	info, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return "", explain.Error(err, fmt.Sprintf("ask the API server of context %q for its version", name))
	}
	return info.GitVersion, nil
}

// complete reads the controllers' options; where kube-scheduler runs, with its defaults.
func (e *Engine) complete() (*kubectrlmgrconfig.KubeControllerManagerConfiguration, error) {
	if e.spec.Scheduler {
		e.spec.Controllers.DefaultThroughput(schedulerQPS, schedulerBurst)
	}
	component, err := e.spec.Controllers.Complete(controllers.Inputs{})
	if err == nil && e.spec.Scheduler && (e.spec.Cluster.Election == nil || e.spec.Cluster.Election.Lease == "") {
		component.Generic.LeaderElection.ResourceName = election.Scheduler().Name
	}
	return component, err
}

// whatRuns is what is started, in a sentence.
func (e *Engine) whatRuns() string {
	if e.spec.Scheduler {
		return scheduler.Name
	}
	return "the controllers"
}

// Component are the controllers' options as they were completed at the start on a
// cluster.
func (e *Engine) Component() *kubectrlmgrconfig.KubeControllerManagerConfiguration {
	return e.work.component
}

// guardFor makes the guard for a run on a target that takes no election. Writing
// for real is then possible only where that leads to a sandbox of this user, which
// its certificate authority proves.
func (e *Engine) guardFor(ctx context.Context, target connect.Target, mode state.Mode) (connect.Wrap, error) {
	options := guard.Options{Mode: mode, Server: target.Server(), BasePath: target.Path()}
	if mode == state.ModeActive {
		options.Before = e.approvals.ofLoops()
	}
	var err error
	switch mode {
	case state.ModeActive:
		options.Grant, err = guard.GrantSandbox(target.URL, target.CA, sandbox.Recognise)
		if err != nil {
			return nil, err
		}
	case state.ModeDryRunServer:
		options.TrustsDryRun, err = localGroupsAt(ctx, target)
		if err != nil {
			return nil, err
		}
	}
	return e.Guarded(options)
}
