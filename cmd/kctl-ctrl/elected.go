package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	componentbaseconfig "k8s.io/component-base/config"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// electedFlags are those of active mode on a cluster, beside upstream's
// --leader-elect-*.
type electedFlags struct {
	confirm string
	noWait  bool
}

func (f *electedFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.confirm, "confirm", "", "with --active: the `CONTEXT` that is to be written to")
	flags.BoolVar(&f.noWait, "no-wait", false, "with --active: end if another holds the lease of kube-controller-manager, instead of standing by")
}

// needsActive names a flag that was set and means nothing without --active.
func needsActive(flags *pflag.FlagSet) (set string) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Name == "confirm" || f.Name == "no-wait" || f.Name == "leader-elect" || strings.HasPrefix(f.Name, "leader-elect-") {
			set = f.Name
		}
	})
	return set
}

// elects reports whether writing for real on a target takes an election: not on a
// sandbox of this user, unless it is asked for there.
func elects(flags *pflag.FlagSet, target connect.Target) bool {
	asked, err := flags.GetBool("leader-elect")
	return !sandbox.Recognise(target.CA) || err == nil && asked && flags.Changed("leader-elect")
}

// contextOf is the name of the context that a kubeconfig and the flags mean.
func contextOf(loader clientcmd.ClientConfig, flag string) (string, error) {
	raw, err := loader.RawConfig()
	if err != nil {
		return "", fmt.Errorf("load kubeconfig: %w", err)
	}
	if flag != "" {
		return flag, nil
	}
	return raw.CurrentContext, nil
}

// confirmActive makes sure that the user means this context, and asks nobody.
func (o *runOptions) confirmActive(name string) (guard.Confirmation, error) {
	config, err := loadConfig(os.Getenv)
	if err != nil {
		return guard.Confirmation{}, err
	}
	if pattern := config.protects(name); pattern != "" {
		return guard.Confirmation{}, fmt.Errorf("context %q is protected (protectedContexts: %s in %s): use a dry run, or choose another with --context", name, pattern, config.path)
	}
	// What is confirmed and protected is a context: it has to be the context that says
	// where the writes go.
	for _, elsewhere := range []string{"server", "cluster"} {
		if o.flags.Changed(elsewhere) {
			return guard.Confirmation{}, fmt.Errorf("--%s leads elsewhere than context %q says, which is what --confirm names: leave it out, or choose another context with --context", elsewhere, name)
		}
	}
	named, err := o.flags.GetStringSlice("controllers")
	if err != nil {
		return guard.Confirmation{}, err
	}
	switch elect, err := o.flags.GetBool("leader-elect"); {
	case err == nil && !elect:
		return guard.Confirmation{}, errors.New("--leader-elect=false on a cluster would set these loops beside kube-controller-manager's: leave it out, or use --sandbox")
	case !o.flags.Changed("controllers") || len(named) == 0:
		return guard.Confirmation{}, fmt.Errorf("--active on context %q needs --controllers: name the loops that are to write", name)
	}
	return guard.Confirm(name, o.elected.confirm)
}

// startElected stands for election and, when it is won, starts the loops to write
// for real. When the lease is lost later, end is called with the reason.
func (o *runOptions) startElected(ctx context.Context, s *session, loader clientcmd.ClientConfig, target connect.Target, progress func(string)) error {
	name, err := contextOf(loader, *o.kubeconfig.Context)
	if err != nil {
		return err
	}
	confirmed, err := o.confirmActive(name)
	if err != nil {
		return err
	}
	clock, err := election.SystemClock()
	if err != nil {
		return err
	}
	if err := emulate(o.sandbox.version); err != nil {
		return err
	}
	component, err := o.controllers.Complete(controllers.Inputs{})
	if err != nil {
		return err
	}
	progress("asking " + name + " whether this may be done")
	version, err := o.preflight(ctx, name, target, component)
	if err != nil {
		return err
	}

	e, err := s.candidate(target, confirmed, component.Generic.LeaderElection, clock, o.elected.noWait)
	if err != nil {
		return err
	}
	grant, err := e.Grant(target.Server(), confirmed)
	if err != nil {
		return err
	}
	s.mode = state.ModeActive
	options := guard.Options{Mode: state.ModeActive, Grant: grant, Server: target.Server(), BasePath: target.Path()}
	if s.approval.gate != nil {
		options.Before = s.approval.gate.Before
	}
	wrap, err := s.guarded(options)
	if err != nil {
		return err
	}
	limits := connect.Limits{QPS: component.Generic.ClientConnection.QPS, Burst: int(component.Generic.ClientConnection.Burst)}
	if s.config, err = target.Config(wrap, limits); err != nil {
		return err
	}
	if err := s.actsAsOne(); err != nil {
		return err
	}

	s.hub.Record(o.started(state.ModeActive, name, version))
	progress("standing for election")
	// Stopped last and in this order: the loops, then the writes under way, then
	// the lease.
	s.onStop(func(ctx context.Context) error { return s.stepDown(ctx, e) })
	if err := e.Acquire(ctx); err != nil {
		return explain(err, "hold the lease "+e.Lease()+" of context "+name)
	}
	go func() {
		select {
		case <-e.Lost():
			s.end(e.Err())
		case <-ctx.Done():
		}
	}()
	if left := s.leftUndone(component); left != "" {
		s.hub.Record(state.Note{Source: "election", Warning: true, Text: left})
	}
	progress("starting the loops")
	err = s.startLoops(ctx, controllers.Config{Component: component, Namespace: *o.kubeconfig.Namespace, CheckAccess: true})
	if err != nil {
		return err
	}
	return noneRuns(s.manager.Load().Statuses())
}

// preflight refuses what must not be tried: it reads, and asks what the user may.
func (o *runOptions) preflight(ctx context.Context, name string, target connect.Target, component *kubectrlmgrconfig.KubeControllerManagerConfiguration) (version string, err error) {
	readOnly, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: target.Server(), BasePath: target.Path()})
	if err != nil {
		return "", err
	}
	config, err := target.Config(readOnly.Wrap, connect.Limits{QPS: readQPS, Burst: readBurst})
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("make a client for context %q: %w", name, err)
	}
	info, err := discovery.ToServerVersionInterfaceWithContext(client.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		return "", explain(err, fmt.Sprintf("ask the API server of context %q for its version", name))
	}
	if err := election.CheckServer(info); err != nil {
		return "", err
	}
	lease := component.Generic.LeaderElection
	if err := election.CheckLease(ctx, client, lease.ResourceNamespace, lease.ResourceName); err != nil {
		return "", explain(err, fmt.Sprintf("look at the lease of context %q", name))
	}
	loops, _, err := controllers.Rights(component, *o.kubeconfig.Namespace)
	if err != nil {
		return "", fmt.Errorf("--controllers: %w", err)
	}
	needs := rights.OfLoops(loops, rights.Options{
		Mode: rights.Active, Impersonate: o.impersonate,
		Lease: &rights.Lease{Namespace: lease.ResourceNamespace, Name: lease.ResourceName},
	})
	rules := rights.Merge(rights.Confine(needs, *o.kubeconfig.Namespace))
	var all []rights.Right
	for _, rule := range rules {
		all = append(all, rule.Rights()...)
	}
	missing, err := rights.Missing(ctx, client.AuthorizationV1(), all)
	if err != nil {
		return "", explain(err, fmt.Sprintf("ask the API server of context %q what you may", name))
	}
	if len(missing) > 0 {
		var lacks []string
		for _, rule := range rights.Only(rules, missing) {
			lacks = append(lacks, strings.Join(rule.Verbs, ", ")+" "+rule.What()+" for "+rule.NeededBy())
		}
		return "", fmt.Errorf("you may not do on context %q what these loops do: %s: 'rbac --mode=active --controllers=…' prints a role for it", name, few(lacks))
	}
	return info.GitVersion, nil
}

// candidate sets up the election. Its requests have a connection budget and a
// guard of their own, which lets nothing out but the lease.
func (s *session) candidate(target connect.Target, confirmed guard.Confirmation, c componentbaseconfig.LeaderElectionConfiguration, clock election.Clock, noWait bool) (*election.Election, error) {
	grant, err := guard.GrantLease(target.Server(), confirmed, c.ResourceNamespace, c.ResourceName)
	if err != nil {
		return nil, err
	}
	g, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: grant, Server: target.Server(), BasePath: target.Path()})
	if err != nil {
		return nil, err
	}
	config, err := target.Config(g.Wrap, connect.Limits{QPS: -1})
	if err != nil {
		return nil, err
	}
	config.UserAgent += "/leader-election"
	// As upstream has it (client-go's resourcelock.NewFromKubeconfig).
	config.Timeout = max(time.Second, c.RenewDeadline.Duration/2)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the election: %w", err)
	}
	return election.New(election.Options{
		Namespace: c.ResourceNamespace, Name: c.ResourceName,
		LeaseDuration: c.LeaseDuration.Duration, RenewDeadline: c.RenewDeadline.Duration, RetryPeriod: c.RetryPeriod.Duration,
		Client: client.CoordinationV1(), Clock: clock, Recorder: s.hub, NoWait: noWait, Broken: s.brokenElection,
	})
}

// stepDown gives the lease back once the loops have ended, and leaves it to expire
// if they do not.
func (s *session) stepDown(ctx context.Context, e *election.Election) error {
	if manager := s.manager.Load(); manager != nil {
		if err := manager.Stop(ctx); err != nil {
			e.Abandon("the loops have not ended in time")
			return nil // the manager's own stop has said so
		}
	}
	return e.Release(ctx)
}

// leftUndone says what nobody does while this process leads: a
// kube-controller-manager that stands by runs none of its loops.
func (s *session) leftUndone(component *kubectrlmgrconfig.KubeControllerManagerConfiguration) string {
	return "while this process leads, only these loops run, and nobody runs those of a kube-controller-manager that stands by: " +
		strings.Join(component.Generic.Controllers, ", ")
}
