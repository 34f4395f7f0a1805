package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	componentbaseconfig "k8s.io/component-base/config"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
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
	flags.BoolVar(&f.noWait, "no-wait", false, "with --active: end if another holds the lease, instead of standing by; one that has expired is still waited for, as long as its duration")
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
		return "", connect.LoadError(err)
	}
	if flag != "" {
		return flag, nil
	}
	return raw.CurrentContext, nil
}

// errNoneChosen is the refusal of active mode where nobody has said which loops
// write.
var errNoneChosen = errors.New("the loops that are to write are not named")

// refuse says why loops must not write to a context, whatever its cluster says and
// whatever the user confirms. It asks nobody.
func (o *runOptions) refuse(name string, chosen bool) error {
	if err := o.unprotected(name); err != nil {
		return err
	}
	// What is confirmed and protected is a context: it has to be the context that says
	// where the writes go.
	for _, elsewhere := range []string{"server", "cluster"} {
		if o.flags.Changed(elsewhere) {
			return fmt.Errorf("--%s leads elsewhere than context %q says, which is what is confirmed: leave it out, or choose another context with --context", elsewhere, name)
		}
	}
	switch elect, err := o.flags.GetBool("leader-elect"); {
	case err == nil && !elect:
		return fmt.Errorf("--leader-elect=false on a cluster would set %s beside the cluster's own: leave it out, or use --sandbox", o.whatRuns())
	case !chosen:
		return errNoneChosen
	}
	return nil
}

// confirmActive makes sure that the user means this context, and asks nobody.
func (o *runOptions) confirmActive(name string) (guard.Confirmation, error) {
	named, err := o.flags.GetStringSlice("controllers")
	if err != nil {
		return guard.Confirmation{}, err
	}
	err = o.refuse(name, o.scheduler || o.flags.Changed("controllers") && len(named) > 0)
	if errors.Is(err, errNoneChosen) {
		err = fmt.Errorf("--active on context %q needs --controllers: name the loops that are to write, or --scheduler", name)
	}
	if err != nil {
		return guard.Confirmation{}, err
	}
	return guard.Confirm(name, o.elected.confirm)
}

// confirmTyped is confirmActive for what was typed on the screen.
func (o *runOptions) confirmTyped(c standing, typed string) (guard.Confirmation, error) {
	if err := o.refuse(c.context, len(c.component.Generic.Controllers) > 0); err != nil {
		return guard.Confirmation{}, err
	}
	confirmed, err := guard.Confirm(c.context, typed)
	if err != nil {
		return guard.Confirmation{}, fmt.Errorf("%q was typed, and the context is %q: nothing was done", typed, c.context)
	}
	return confirmed, nil
}

// standing is what stands for election, and where.
type standing struct {
	context   string
	target    connect.Target
	component *kubectrlmgrconfig.KubeControllerManagerConfiguration
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
	if err := emulate(o.sandbox.version); err != nil {
		return err
	}
	component, err := o.complete()
	if err != nil {
		return err
	}
	t, err := o.stand(ctx, s, standing{name, target, component}, confirmed, progress)
	if err != nil {
		return err
	}
	started := t.started
	started.Elected = true
	s.hub.Record(started)
	progress("standing for election")
	s.onStop(t.end)
	bounded, cancel := o.standBy(ctx)
	err = t.acquire(bounded)
	cancel()
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-t.e.Lost():
			s.end(t.e.Err())
		case <-ctx.Done():
		}
	}()
	progress("starting " + o.whatRuns())
	return t.lead(ctx)
}

// stand sets up what takes part in the election: the loops' way to the cluster,
// which leads through the election's gate. Nothing is written yet.
func (o *runOptions) stand(ctx context.Context, s *session, c standing, confirmed guard.Confirmation, progress func(string)) (*tenure, error) {
	clock, err := election.SystemClock()
	if err != nil {
		return nil, err
	}
	progress("asking " + c.context + " whether this may be done")
	said, err := o.preflight(ctx, c)
	if err != nil {
		return nil, err
	}
	e, err := s.candidate(o.replaced(), c.target, confirmed, c.component.Generic.LeaderElection, clock, o.elected.noWait)
	if err != nil {
		return nil, err
	}
	grant, err := e.Grant(c.target.Server(), confirmed)
	if err != nil {
		return nil, err
	}
	options := guard.Options{Mode: state.ModeActive, Grant: grant, Server: c.target.Server(), BasePath: c.target.Path(), Before: s.approval.ofLoops()}
	wrap, err := s.guarded(options)
	if err != nil {
		return nil, err
	}
	limits := connect.Limits{QPS: c.component.Generic.ClientConnection.QPS, Burst: int(c.component.Generic.ClientConnection.Burst)}
	config, err := c.target.Config(wrap, limits)
	if err != nil {
		return nil, err
	}
	if err := s.actsAsOne(config); err != nil {
		return nil, err
	}
	return &tenure{
		s: s, e: e, config: config, component: c.component, context: c.context, namespace: *o.kubeconfig.Namespace,
		started: o.started(state.ModeActive, c.context, said.version),
		again:   func(ctx context.Context) error { return o.stillMay(ctx, s, c, said.version) },
	}, nil
}

// candidate sets up the election. Its requests have a connection budget and a
// guard of their own, which lets nothing out but the lease.
func (s *session) candidate(of election.Component, target connect.Target, confirmed guard.Confirmation, c componentbaseconfig.LeaderElectionConfiguration, clock election.Clock, noWait bool) (*election.Election, error) {
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
	config.Wrap(connect.Unretried)
	// As upstream has it (client-go's resourcelock.NewFromKubeconfig).
	config.Timeout = max(time.Second, c.RenewDeadline.Duration/2)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the election: %w", err)
	}
	return election.New(election.Options{
		Of: of, Namespace: c.ResourceNamespace, Name: c.ResourceName,
		LeaseDuration: c.LeaseDuration.Duration, RenewDeadline: c.RenewDeadline.Duration, RetryPeriod: c.RetryPeriod.Duration,
		Client: client.CoordinationV1(), Clock: clock, Recorder: s.hub, NoWait: noWait, Broken: s.brokenElection,
	})
}
