package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"
	controllernames "k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/emulation"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Clients of the sandbox are not slowed down: nobody else is there to be polite
// to. The figures are those of the comparison in docs/benchmarks.md.
const (
	sandboxQPS   = 1000
	sandboxBurst = 2000
)

// sandboxClusterCIDR is what node-ipam hands out to the nodes.
const sandboxClusterCIDR = "10.244.0.0/16"

// sandboxFlags describe the embedded control plane and the simulated part of
// the cluster.
type sandboxFlags struct {
	version  string
	nodes    int
	nodeCPU  string
	nodeMem  string
	nodePods string
	pods     string
	auditLog string
	// force reports whether --force was given, which allows replacing files.
	force func() bool
	// maxSize is --max-size.
	maxSize func() string
}

func (f *sandboxFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.version, "kubernetes-version", "", "minor version for the sandbox and the loops to behave like: "+strings.Join(sandbox.Versions(), ", ")+" (default the newest)")
	flags.IntVar(&f.nodes, "nodes", simulate.DefaultNodes, "number of simulated nodes; 0 switches the scheduler off too")
	flags.StringVar(&f.nodeCPU, "node-cpu", "8", "CPU capacity of a simulated node")
	flags.StringVar(&f.nodeMem, "node-memory", "32Gi", "memory capacity of a simulated node")
	flags.StringVar(&f.nodePods, "node-pods", "110", "number of pods that a simulated node takes")
	flags.StringVar(&f.pods, "pods", string(nodes.PodsReady), "what newly bound pods do: ready, pending or failing")
	flags.StringVar(&f.auditLog, "audit-log", "", "write kube-apiserver's audit log (level Request, without the bodies of Secrets and tokens) to this file; one that exists needs --force")
	f.force = func() bool {
		force, err := flags.GetBool("force")
		return err == nil && force
	}
	f.maxSize = func() string {
		size, err := flags.GetString("max-size")
		if err != nil {
			return defaultMaxSize
		}
		return size
	}
}

// addAuditFile registers what is about the audit log for commands that make no other file.
func addAuditFile(flags *pflag.FlagSet) {
	flags.Bool("force", false, "replace a file of the name that --audit-log has")
	flags.String("max-size", defaultMaxSize, "end the audit log when it is this large")
}

// boundAuditLog has the audit log end at --max-size, and the journal say so.
func (s *session) boundAuditLog(f sandboxFlags, options *sandbox.Options) (err error) {
	options.AuditLogBytes, err = parseMaxSize(f.maxSize())
	options.OnAuditLogFull = func() {
		s.auditLogFull.Store(true)
		s.hub.Record(state.Note{Source: "audit-log", Warning: true, Text: "the audit log is incomplete from now on: it reached --max-size"})
	}
	return err
}

// capacity reads the flags that describe a node.
func (f *sandboxFlags) capacity() (corev1.ResourceList, error) {
	capacity := corev1.ResourceList{}
	for _, entry := range []struct {
		name  corev1.ResourceName
		flag  string
		value string
	}{
		{corev1.ResourceCPU, "--node-cpu", f.nodeCPU},
		{corev1.ResourceMemory, "--node-memory", f.nodeMem},
		{corev1.ResourcePods, "--node-pods", f.nodePods},
	} {
		quantity, err := resource.ParseQuantity(entry.value)
		if err != nil || quantity.Sign() < 0 {
			return nil, fmt.Errorf("%s %q is not a quantity such as 8 or 32Gi", entry.flag, entry.value)
		}
		capacity[entry.name] = quantity
	}
	return capacity, nil
}

// startSandbox starts the control plane, the loops, the scheduler and the
// simulated nodes. It returns when the API server is ready and all of them have
// begun. progress gets a line now and then.
//
// The mode is that of the loops. Manifests, scheduler and nodes are the world
// that the loops live in: they write for real in any mode.
func (s *session) startSandbox(ctx context.Context, f sandboxFlags, o *controllers.Options, namespace string, mode state.Mode, progress func(string)) error {
	simulated, err := f.simulation()
	if err != nil {
		return err
	}
	options, err := s.controlPlane(f, o, mode)
	if err != nil {
		return err
	}
	options.Progress = progress
	sb, err := sandbox.Start(ctx, options)
	if err != nil {
		return err
	}
	s.sandbox = sb
	s.onStop(sb.Close)
	if err := s.connectSandbox(mode); err != nil {
		return err
	}

	inputs := sb.SigningInputs()
	o.DefaultThroughput(sandboxQPS, sandboxBurst)
	component, err := o.Complete(controllers.Inputs{
		SigningCertFile: inputs.CertFile, SigningKeyFile: inputs.KeyFile,
		ServiceAccountKeyFile: inputs.ServiceAccountKeyFile,
		ClusterCIDR:           sandboxClusterCIDR, ServiceCIDR: inputs.ServiceCIDR,
	})
	if err != nil {
		return err
	}
	// The loops are built when the provisioner is: it writes where they read; see
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
			return s.startLoops(ctx, controllers.Config{Component: component, Namespace: namespace, RootCA: inputs.RootCA, Untapped: o.Untapped()})
		})
	}
	if simulated.Nodes > 0 {
		starting.Go(func() error {
			defer simulated.Built() // also where it fails before
			return s.startSimulation(ctx, simulated)
		})
	}
	return starting.Wait()
}

// simulation reads the flags that describe nodes and pods.
func (f *sandboxFlags) simulation() (simulate.Options, error) {
	capacity, err := f.capacity()
	if err != nil {
		return simulate.Options{}, err
	}
	behaviour, err := nodes.ParsePodBehaviour(f.pods)
	if err != nil {
		return simulate.Options{}, err
	}
	if f.nodes < 0 {
		return simulate.Options{}, fmt.Errorf("--nodes %d: a cluster cannot have less than no nodes", f.nodes)
	}
	return simulate.Options{Nodes: f.nodes, Capacity: capacity, Pods: behaviour, Scheduler: true, Storage: true}, nil
}

// queues.controlPlane says what control plane the flags ask for. Where a loop that
// admission relies on does not run, or may not write, the plugin is off too, and apply
// does not wait for the loop: without ServiceAccounts, or with quotas whose usage nobody
// counts, every pod would be turned away.
func (s *session) controlPlane(f sandboxFlags, o *controllers.Options, mode state.Mode) (sandbox.Options, error) {
	gates, err := o.FeatureGates()
	if err != nil {
		return sandbox.Options{}, err
	}
	if err := emulate(f.version); err != nil {
		return sandbox.Options{}, err
	}
	options := sandbox.Options{KubernetesVersion: f.version, FeatureGates: gates}
	for _, reliance := range []struct {
		controller, plugin string
		noWait             *bool
	}{
		{controllernames.ServiceAccountController, "ServiceAccount", &s.applyOptions.NoServiceAccountWait},
		{controllernames.ResourceQuotaController, "ResourceQuota", &s.applyOptions.NoQuotaWait},
	} {
		selected, err := o.Selected(reliance.controller)
		if err != nil {
			return sandbox.Options{}, err
		}
		if !selected || mode != state.ModeActive || s.approval.never(reliance.controller) {
			*reliance.noWait = true
			options.DisableAdmission = append(options.DisableAdmission, reliance.plugin)
		}
	}
	if f.auditLog != "" {
		options.Audit = sandbox.AuditRequest
		if err := s.boundAuditLog(f, &options); err != nil {
			return sandbox.Options{}, err
		}
		if options.AuditLog, err = openOwn(f.auditLog, f.force != nil && f.force()); err != nil {
			return sandbox.Options{}, fmt.Errorf("open the file for the audit log: %w", err)
		}
	}
	return options, nil
}

// connectSandbox makes the configs for the sandbox: one for the loops, in their
// mode, and one for the world around them.
func (s *session) connectSandbox(mode state.Mode) error {
	endpoint := s.sandbox.Endpoint()
	grant, err := guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	if err != nil {
		return err
	}
	s.mode = mode
	limits := connect.Limits{QPS: sandboxQPS, Burst: sandboxBurst}
	wrap, err := s.guarded(guard.Options{Mode: state.ModeActive, Grant: grant})
	if err != nil {
		return err
	}
	if s.world, err = connect.Server(connect.Endpoint(endpoint), wrap, limits); err != nil {
		return err
	}
	loops := guard.Options{Mode: mode, Server: endpoint.URL}
	if mode == state.ModeActive {
		if loops.Before = s.approval.ofLoops(); loops.Before == nil {
			s.config = s.world
			return nil
		}
		loops.Grant = grant
	}
	if wrap, err = s.guarded(loops); err != nil {
		return err
	}
	s.config, err = connect.Server(connect.Endpoint(endpoint), wrap, limits)
	return err
}

func (s *session) startSimulation(ctx context.Context, options simulate.Options) error {
	options.Config, options.Recorder = s.world, s.hub
	cluster, err := simulate.Start(klog.NewContext(ctx, s.logger), options)
	if err != nil {
		return err
	}
	s.onStop(func(ctx context.Context) error {
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
	s.cluster = cluster
	s.addProbe(cluster)
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

// stopWithin is how long stopping may take after the first Ctrl-C.
const stopWithin = 1800 * time.Millisecond

// shutDown stops the session and says on stderr what did not end in time.
func (s *session) shutDown(stderr io.Writer) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), stopWithin, fmt.Errorf("%s are over", stopWithin))
	defer cancel()
	if err := s.stop(ctx); err != nil {
		fmt.Fprintln(stderr, "warning:", exit.Printable(err))
	}
	if s.auditLogFull.Load() {
		fmt.Fprintln(stderr, "warning: the audit log is incomplete: it reached --max-size")
	}
}
