// Package engineflags turns flags into an engine.Spec, for every command that runs
// controllers: where they run, in which mode, who decides about their writes, the election,
// and where the journal is recorded. ShutDown stops an engine and reports what did not end.
package engineflags

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Spec is what the flags ask for, before anything starts.
func (o *Options) Spec(mode state.Mode, asking engine.Approvals) (engine.Spec, error) {
	info := about.Version()
	spec := engine.Spec{
		Mode: mode, Controllers: o.Controllers, Scheduler: o.Scheduler, Namespace: *o.Kubeconfig.Namespace,
		Impersonate: o.Impersonate, Approvals: asking, Horizon: o.Horizon, Log: LogOf(o.Logs),
		SchedulerStart: min(cmp.Or(o.Duration, scheduler.DefaultStartWithin), scheduler.DefaultStartWithin),
		Version:        info.Version, Kubernetes: info.Kubernetes,
	}
	var err error
	if o.Sandboxed {
		spec.Sandbox, err = o.Sandbox.Spec()
	} else {
		spec.Cluster, err = o.cluster(mode)
	}
	return spec, err
}

// cluster is that of the current context, and how it may be written to.
func (o *Options) cluster(mode state.Mode) (*engine.Cluster, error) {
	loader := o.Kubeconfig.ToRawKubeConfigLoader()
	target, err := connect.TargetOf(loader)
	if err != nil {
		return nil, err
	}
	name, err := cliflags.ContextOf(loader, *o.Kubeconfig.Context)
	if err != nil {
		return nil, err
	}
	c := &engine.Cluster{Context: name, Target: target, KubernetesVersion: o.Sandbox.Version}
	switch {
	case mode != state.ModeActive:
	case Elects(o.Set, target):
		if err := o.mayElect(name); err != nil {
			return nil, err
		}
		c.Election = o.Election(name)
	default:
		if err := o.confirmSandbox(name, o.ErrOut); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Election is what the flags say of it.
func (o *Options) Election(name string) *engine.Election {
	election := &engine.Election{
		Confirm: o.Elected.confirm, NoWait: o.Elected.noWait, Bound: o.standBy,
		Allowed: func() error { return o.unprotected(name) },
	}
	if lease, err := o.Set.GetString("leader-elect-resource-name"); err == nil && o.Set.Changed("leader-elect-resource-name") {
		election.Lease = lease
	}
	return election
}

// mayElect refuses a context that must not be written to, whatever is confirmed.
func (o *Options) mayElect(name string) error {
	named, err := o.Set.GetStringSlice("controllers")
	if err != nil {
		return err
	}
	err = o.Refuse(name, o.Scheduler || o.Set.Changed("controllers") && len(named) > 0)
	if errors.Is(err, errNoneChosen) {
		err = fmt.Errorf("--active on context %q needs --controllers: name the loops that are to write, or --scheduler", name)
	}
	return err
}

// confirmSandbox checks the flags of an election where none is held, on a sandbox: a
// context that is confirmed has to be the one that is written to, and the others do
// nothing.
func (o *Options) confirmSandbox(name string, stderr io.Writer) error {
	if o.Set.Changed("confirm") && o.Elected.confirm != name {
		return fmt.Errorf("--confirm=%s does not name the context that would be written to, %s: check --context and --kubeconfig, or leave --confirm out, which a sandbox does not need", o.Elected.confirm, name)
	}
	if set := ChangedOf(o.Set, electionFlagsOf(o.Set)); set != "" {
		fmt.Fprintf(stderr, "warning: --%s has no effect: context %s is a sandbox, where nobody is elected\n", set, render.Sanitise(name))
	}
	return nil
}

// electionFlagsOf are the flags of an election but --confirm.
func electionFlagsOf(flags *pflag.FlagSet) *pflag.FlagSet {
	out := pflag.NewFlagSet("election", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "no-wait" || f.Name == "leader-elect" || strings.HasPrefix(f.Name, "leader-elect-") {
			out.AddFlag(f)
		}
	})
	return out
}
