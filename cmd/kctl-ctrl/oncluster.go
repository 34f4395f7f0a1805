package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// startOnCluster runs the loops, or kube-scheduler, against the current context.
func (o *runOptions) startOnCluster(ctx context.Context, s *session, mode state.Mode, progress func(string)) error {
	s.schedules = o.scheduler
	loader := o.kubeconfig.ToRawKubeConfigLoader()
	target, err := connect.TargetOf(loader)
	if err != nil {
		return err
	}
	if mode == state.ModeActive && elects(o.flags, target) {
		return o.startElected(ctx, s, loader, target, progress)
	}
	if mode == state.ModeActive {
		if err := o.confirmSandbox(loader, o.ErrOut); err != nil {
			return err
		}
	}
	wrap, err := guardFor(ctx, s, target, mode)
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
	limits := connect.Limits{QPS: component.Generic.ClientConnection.QPS, Burst: int(component.Generic.ClientConnection.Burst)}
	if s.config, err = target.Config(wrap, limits); err != nil {
		return err
	}
	if err := s.actsAsOne(s.config); err != nil {
		return err
	}
	name, err := contextOf(loader, *o.kubeconfig.Context)
	if err != nil {
		return err
	}
	progress("connecting to " + name)
	client, err := discovery.NewDiscoveryClientForConfig(connect.ForQuestions(s.config))
	if err != nil {
		return fmt.Errorf("make a client for context %q: %w", name, err)
	}
	version, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return explain.Error(err, fmt.Sprintf("ask the API server of context %q for its version", name))
	}
	s.hub.Record(o.started(mode, name, version.GitVersion))
	s.foreign = &standing{name, target, component}
	if o.scheduler {
		if err := o.mayScheduleDry(ctx, s, name, mode); err != nil {
			return err
		}
	}
	progress("starting " + o.whatRuns())
	return s.startWork(ctx, component, *o.kubeconfig.Namespace)
}

// confirmSandbox checks the flags of an election where none is held, on a sandbox: a
// context that is confirmed has to be the one that is written to, and the others do
// nothing.
func (o *runOptions) confirmSandbox(loader clientcmd.ClientConfig, stderr io.Writer) error {
	name, err := contextOf(loader, *o.kubeconfig.Context)
	if err != nil {
		return err
	}
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

// actsAsOne refuses to act as the loops' accounts and as another user at once.
func (s *session) actsAsOne(config *rest.Config) error { return actAsOne(s.impersonate, config) }

func actAsOne(impersonate bool, config *rest.Config) error {
	if other := config.Impersonate.UserName; impersonate && other != "" {
		return fmt.Errorf("--impersonate-controllers while you act as %q: a request acts as one user: leave out --as, or whatever in the kubeconfig says it", other)
	}
	return nil
}

// noneRuns is an error where loops were asked for and not one of them runs: who
// looks at none must not take that for loops that have nothing to do.
func noneRuns(statuses []state.ControllerChanged) error {
	on, off := sortLoops(statuses)
	if len(on) > 0 || len(off) == 0 {
		return nil
	}
	text := "no loop runs: " + few(off)
	if len(forbidden(statuses)) > 0 {
		text += ": ask for a role that allows it: 'rbac' prints the least one, and what of it you lack"
	}
	return errors.New(text)
}

// forbidden are the loops that are off for want of a right, with the right.
func forbidden(statuses []state.ControllerChanged) []string {
	_, off := sortLoops(slices.DeleteFunc(slices.Clone(statuses), func(c state.ControllerChanged) bool {
		return c.Status != state.ControllerOff || !strings.HasPrefix(c.Reason, controllers.MayNot)
	}))
	return off
}

// few joins the first of a list.
func few(words []string) string { return fewBy(words, ", ") }

// fewBy is few for words with commas in them.
func fewBy(words []string, separator string) string {
	const most = 3
	if len(words) <= most {
		return strings.Join(words, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], separator), len(words)-most)
}

// guardFor makes the guard for a run on a target that takes no election. Writing
// for real is then possible only where that leads to a sandbox of this user, which
// its certificate authority proves.
func guardFor(ctx context.Context, s *session, target connect.Target, mode state.Mode) (connect.Wrap, error) {
	s.mode = mode
	options := guard.Options{Mode: mode, Server: target.Server(), BasePath: target.Path()}
	if mode == state.ModeActive {
		options.Before = s.approval.ofLoops()
	}
	var err error
	switch mode {
	case state.ModeActive:
		options.Grant, err = guard.GrantSandbox(target.URL, target.CA, sandbox.Recognise)
		if err != nil {
			return nil, err
		}
	case state.ModeDryRunServer:
		options.TrustsDryRun, err = localGroups(ctx, target)
		if err != nil {
			return nil, err
		}
	}
	return s.guarded(options)
}
