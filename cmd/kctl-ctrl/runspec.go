package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// spec is what the flags ask for, before anything starts.
func (o *runOptions) spec(mode state.Mode, asking engine.Approvals) (engine.Spec, error) {
	info := about.Version()
	spec := engine.Spec{
		Mode: mode, Controllers: o.controllers, Scheduler: o.scheduler, Namespace: *o.kubeconfig.Namespace,
		Impersonate: o.impersonate, Approvals: asking, Horizon: o.horizon, Log: logOf(o.logs),
		SchedulerStart: min(cmp.Or(o.duration, scheduler.DefaultStartWithin), scheduler.DefaultStartWithin),
		Version:        info.Version, Kubernetes: info.Kubernetes,
	}
	var err error
	if o.sandboxed {
		spec.Sandbox, err = o.sandbox.spec()
	} else {
		spec.Cluster, err = o.cluster(mode)
	}
	return spec, err
}

// cluster is that of the current context, and how it may be written to.
func (o *runOptions) cluster(mode state.Mode) (*engine.Cluster, error) {
	loader := o.kubeconfig.ToRawKubeConfigLoader()
	target, err := connect.TargetOf(loader)
	if err != nil {
		return nil, err
	}
	name, err := contextOf(loader, *o.kubeconfig.Context)
	if err != nil {
		return nil, err
	}
	c := &engine.Cluster{Context: name, Target: target, KubernetesVersion: o.sandbox.version}
	switch {
	case mode != state.ModeActive:
	case elects(o.flags, target):
		if err := o.mayElect(name); err != nil {
			return nil, err
		}
		c.Election = o.election(name)
	default:
		if err := o.confirmSandbox(name, o.ErrOut); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// election is what the flags say of it.
func (o *runOptions) election(name string) *engine.Election {
	election := &engine.Election{
		Confirm: o.elected.confirm, NoWait: o.elected.noWait, Bound: o.standBy,
		Allowed: func() error { return o.unprotected(name) },
	}
	if lease, err := o.flags.GetString("leader-elect-resource-name"); err == nil && o.flags.Changed("leader-elect-resource-name") {
		election.Lease = lease
	}
	return election
}

// mayElect refuses a context that must not be written to, whatever is confirmed.
func (o *runOptions) mayElect(name string) error {
	named, err := o.flags.GetStringSlice("controllers")
	if err != nil {
		return err
	}
	err = o.refuse(name, o.scheduler || o.flags.Changed("controllers") && len(named) > 0)
	if errors.Is(err, errNoneChosen) {
		err = fmt.Errorf("--active on context %q needs --controllers: name the loops that are to write, or --scheduler", name)
	}
	return err
}

// confirmSandbox checks the flags of an election where none is held, on a sandbox: a
// context that is confirmed has to be the one that is written to, and the others do
// nothing.
func (o *runOptions) confirmSandbox(name string, stderr io.Writer) error {
	if o.flags.Changed("confirm") && o.elected.confirm != name {
		return fmt.Errorf("--confirm=%s does not name the context that would be written to, %s: check --context and --kubeconfig, or leave --confirm out, which a sandbox does not need", o.elected.confirm, name)
	}
	if set := changedOf(o.flags, electionFlagsOf(o.flags)); set != "" {
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
