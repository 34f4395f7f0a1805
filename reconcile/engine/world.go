package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	controllernames "k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/emulation"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/ownfile"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Clients of the sandbox are not slowed down: nobody else is there to be polite
// to. The figures are those of the comparison in docs/benchmarks.md.
const (
	SandboxQPS   = 1000
	SandboxBurst = 2000
)

// sandboxClusterCIDR is what node-ipam hands out to the nodes.
const sandboxClusterCIDR = "10.244.0.0/16"

// world is what controllers live among on a sandbox: the control plane, and manifests,
// scheduler and nodes, which write for real in any mode.
type world struct {
	sandbox *sandbox.Sandbox
	// config is the way of all but the controllers to the API server.
	config *rest.Config
	// nodes are simulated, with a scheduler and a provisioner.
	nodes *simulate.Cluster
	// apply leaves out the waits for controllers that do not run.
	apply plan.Options
	// auditLogFull: the audit log has reached its bound.
	auditLogFull atomic.Bool
}

// startSandbox starts the control plane, the controllers, the scheduler and the
// simulated nodes. It returns when the API server is ready and all of them have
// begun.
func (e *Engine) startSandbox(ctx context.Context) error {
	spec := e.spec.Sandbox
	e.journal.Record(e.started(e.spec.Mode, "sandbox", sandbox.LinkedVersion))
	mode, namespace := e.spec.Mode, e.spec.Namespace
	if e.spec.Command { // it is the command that the mode is about
		mode, namespace = state.ModeActive, ""
	}
	options, err := e.controlPlane(mode)
	if err != nil {
		return err
	}
	options.Progress = e.progress
	sb, err := sandbox.Start(ctx, options)
	if err != nil {
		return err
	}
	e.world.sandbox = sb
	e.stops.add(sb.Close)
	go func() {
		<-sb.Exited()
		e.lost.end(crashed(sb))
	}()
	if err := e.connectSandbox(mode); err != nil {
		return err
	}
	if err := e.populate(ctx, simulate.Options{Nodes: spec.Nodes, Capacity: spec.Capacity, Pods: spec.Pods, Scheduler: true, Storage: true}, namespace); err != nil {
		return err
	}
	if e.spec.Command {
		config, _ := e.connection.get()
		e.connection.set(config, e.spec.Mode)
	}
	return nil
}

// crashed is why a control plane is gone.
func crashed(sb *sandbox.Sandbox) error {
	if err := sb.Err(); err != nil {
		return fmt.Errorf("the sandbox's control plane ended: %w", err)
	}
	return errors.New("the sandbox's control plane ended")
}

// populate starts the controllers and what is simulated, at the same time.
func (e *Engine) populate(ctx context.Context, simulated simulate.Options, namespace string) error {
	inputs := e.world.sandbox.SigningInputs()
	e.spec.Controllers.DefaultThroughput(SandboxQPS, SandboxBurst)
	component, err := e.spec.Controllers.Complete(controllers.Inputs{
		SigningCertFile: inputs.CertFile, SigningKeyFile: inputs.KeyFile,
		ServiceAccountKeyFile: inputs.ServiceAccountKeyFile,
		ClusterCIDR:           sandboxClusterCIDR, ServiceCIDR: inputs.ServiceCIDR,
	})
	if err != nil {
		return err
	}
	// The controllers are built when the provisioner is: it writes where they read; see
	// storage.Storage.Prepare.
	built := make(chan struct{})
	simulated.Built = sync.OnceFunc(func() { close(built) })
	if simulated.Nodes == 0 {
		simulated.Built()
	}
	var starting errgroup.Group
	if len(component.Generic.Controllers) > 0 {
		starting.Go(func() error {
			<-built
			return e.StartControllers(ctx, controllers.Config{Component: component, Namespace: namespace, RootCA: inputs.RootCA})
		})
	}
	if simulated.Nodes > 0 {
		starting.Go(func() error {
			defer simulated.Built() // also where it fails before
			return e.Simulate(ctx, simulated)
		})
	}
	return starting.Wait()
}

// controlPlane says what control plane the spec asks for. Where a loop that
// admission relies on does not run, or may not write, the plugin is off too, and apply
// does not wait for the loop: without ServiceAccounts, or with quotas whose usage nobody
// counts, every pod would be turned away.
func (e *Engine) controlPlane(mode state.Mode) (sandbox.Options, error) {
	spec, o := e.spec.Sandbox, e.spec.Controllers
	gates, err := o.FeatureGates()
	if err != nil {
		return sandbox.Options{}, err
	}
	if err := emulate(spec.KubernetesVersion); err != nil {
		return sandbox.Options{}, err
	}
	options := sandbox.Options{KubernetesVersion: spec.KubernetesVersion, FeatureGates: gates}
	for _, reliance := range []struct {
		controller, plugin string
		noWait             *bool
	}{
		{controllernames.ServiceAccountController, "ServiceAccount", &e.world.apply.NoServiceAccountWait},
		{controllernames.ResourceQuotaController, "ResourceQuota", &e.world.apply.NoQuotaWait},
	} {
		selected, err := o.Selected(reliance.controller)
		if err != nil {
			return sandbox.Options{}, err
		}
		if !selected || mode != state.ModeActive || e.approvals.never(reliance.controller) {
			*reliance.noWait = true
			options.DisableAdmission = append(options.DisableAdmission, reliance.plugin)
		}
	}
	if spec.AuditLog != "" {
		options.Audit = sandbox.AuditRequest
		options.AuditLogBytes = spec.AuditLogBytes
		options.OnAuditLogFull = func() {
			e.world.auditLogFull.Store(true)
			e.journal.Record(state.Note{Source: "audit-log", Warning: true, Text: "the audit log is incomplete from now on: it reached --max-size"})
		}
		if options.AuditLog, err = ownfile.Create(spec.AuditLog, spec.ReplaceAuditLog); err != nil {
			return sandbox.Options{}, fmt.Errorf("open the file for the audit log: %w", err)
		}
	}
	return options, nil
}

// connectSandbox makes the configs for the sandbox: one for the loops, in their
// mode, and one for the world around them.
func (e *Engine) connectSandbox(mode state.Mode) error {
	endpoint := e.world.sandbox.Endpoint()
	grant, err := guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	if err != nil {
		return err
	}
	limits := connect.Limits{QPS: SandboxQPS, Burst: SandboxBurst}
	wrap, err := e.Guarded(guard.Options{Mode: state.ModeActive, Grant: grant})
	if err != nil {
		return err
	}
	if e.world.config, err = connect.Server(connect.Endpoint(endpoint), wrap, limits); err != nil {
		return err
	}
	loops := guard.Options{Mode: mode, Server: endpoint.URL}
	if mode == state.ModeActive {
		if loops.Before = e.approvals.ofLoops(); loops.Before == nil {
			e.connection.set(e.world.config, mode)
			return nil
		}
		loops.Grant = grant
	}
	if wrap, err = e.Guarded(loops); err != nil {
		return err
	}
	config, err := connect.Server(connect.Endpoint(endpoint), wrap, limits)
	e.connection.set(config, mode)
	return err
}

// Simulate starts nodes, a scheduler and a provisioner on the sandbox.
func (e *Engine) Simulate(ctx context.Context, options simulate.Options) error {
	options.Config, options.Recorder = e.world.config, e.journal
	cluster, err := simulate.Start(klog.NewContext(ctx, e.logger), options)
	if err != nil {
		return err
	}
	e.stops.add(func(ctx context.Context) error {
		cluster.Stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			cluster.Wait()
		}()
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("stop the simulated nodes: %w", context.Cause(ctx))
		}
	})
	e.world.nodes = cluster
	e.addProbe(cluster)
	return nil
}

// emulate makes the loops and the scheduler of this process behave like an
// earlier release; feature gates that flags set come on top of it.
func emulate(version string) error {
	if version == "" {
		return nil
	}
	minor, err := sandbox.ParseVersion(version)
	if err != nil {
		return fmt.Errorf("--kubernetes-version: %w", err)
	}
	return emulation.Apply(minor, nil)
}

// ReadOnlyConfig leads to the sandbox; every write through it is refused in this process.
func (e *Engine) ReadOnlyConfig() (*rest.Config, error) {
	endpoint := e.world.sandbox.Endpoint()
	g, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: endpoint.URL})
	if err != nil {
		return nil, err
	}
	return connect.Server(connect.Endpoint(endpoint), g.Wrap, connect.Limits{QPS: SandboxQPS, Burst: SandboxBurst})
}

// Apply puts manifests into the sandbox; those that name no namespace go into namespace.
func (e *Engine) Apply(ctx context.Context, objects []plan.Object, namespace string) error {
	cluster, err := plan.NewCluster(e.world.config)
	if err != nil {
		return err
	}
	options := e.world.apply
	options.Namespace = namespace
	applied, err := cluster.Apply(ctx, objects, options)
	if err != nil {
		return fmt.Errorf("apply the manifests:\n%w", err)
	}
	for _, warning := range applied.Warnings {
		e.journal.Record(state.Note{Source: "apply", Text: warning, Warning: true})
	}
	for _, result := range applied.Results {
		if result.Note != "" {
			e.Note("apply", "%s", result.Note)
		}
	}
	return nil
}

// Config leads to the sandbox, for who puts things there: what it writes is in the journal,
// and is written for real.
func (e *Engine) Config() *rest.Config { return e.world.config }

// Adopt has the engine work on a sandbox that somebody else has started, and ends.
func (e *Engine) Adopt(sb *sandbox.Sandbox, mode state.Mode) error {
	e.world.sandbox = sb
	return e.connectSandbox(mode)
}
