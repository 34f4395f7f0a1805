// Package diff is the command that says what controllers make of a change of manifests.
package diff

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	controllers *controllers.Options
	flags       *pflag.FlagSet
	change      cliflags.Manifests
	base        []string
	sandbox     engineflags.Sandbox
	logs        cliflags.Logs

	namespace string
	output    string
	color     string
	at        string
	horizon   time.Duration
	timeout   time.Duration
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{IOStreams: streams}
	cmd := &cobra.Command{
		Use:   "diff -f NEW [--base OLD]",
		Short: "Say what the controllers will do to a change of manifests",
		Long: `Start a sandbox, apply the manifests given with --base (or none), let the real
control loops come to rest, apply those given with -f, delete what only the base
has, let them come to rest again, and report what the controllers did: which
ReplicaSets, pods, jobs and volumes appeared, were scaled, rolled or went.

No cluster is needed and none is touched.

Admission policies, quotas, limit ranges and classes among the manifests are in
force before the objects they apply to. Namespaces, StorageClasses, PriorityClasses
and RuntimeClasses that are named and not among them are created; the plan lists them.

The usage of pods meets the targets of HorizontalPodAutoscalers, which then scale
into their limits only. The annotations kctl-ctrl.dev/cpu-usage and
kctl-ctrl.dev/memory-usage set the usage of a pod.

Exit code: 0 if nothing would change, 1 if something would, more than 1 on an
error. Without --base everything is new, so it is 1.`,
		Example: `  # What does this pull request do?
  kctl-ctrl diff --base examples/shop/ -f examples/shop-next/

  # The same for a program
  kctl-ctrl diff --base main/ -f pull-request/ -R -o json

  # From a kustomization, against what is on main
  git worktree add ../main main
  kctl-ctrl diff --base ../main/deploy/ -k overlays/production`,
		Args: cliflags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	flags := cmd.Flags()
	o.flags = flags
	o.change.AddTo(flags, "the manifests as they will be")
	flags.StringSliceVar(&o.base, "base", nil, "the manifests as they are: files or directories; left out, nothing is there yet")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of objects that name none (default \"default\")")
	flags.StringVarP(&o.output, "output", "o", "text", "output format: text, json or yaml")
	flags.StringVar(&o.color, "color", "auto", "auto, always or never")
	flags.StringVar(&o.at, "at", "", "let CronJobs fire that are due in this minute, RFC 3339; otherwise they are suspended")
	flags.DurationVar(&o.horizon, "horizon", 3*time.Second, "wait for keys due sooner than this")
	flags.DurationVar(&o.timeout, "timeout", engineflags.SettleTimeout, "exit with 3 when the controllers have not settled after this duration, listing what is still in progress")
	o.sandbox.AddTo(flags)
	engineflags.AddAuditFile(flags)
	o.logs.AddTo(flags)
	controllerflags.Add(cmd, &o.controllers)
	controllerflags.AddUntapped(cmd, o.controllers)
	return cmd
}

// diffInput is what the flags name, read and checked before anything starts.
type diffInput struct {
	old, new []plan.Object
	at       time.Time
	color    bool
}

func (o *Options) read() (diffInput, error) {
	var in diffInput
	err := printing.CheckFormat(o.output, "text", "json", "yaml")
	if err != nil {
		return in, err
	}
	if in.color, err = console.Color(o.color, o.Out); err != nil {
		return in, err
	}
	if o.at != "" {
		if in.at, err = time.Parse(time.RFC3339, o.at); err != nil {
			return in, fmt.Errorf("--at %q is not a time such as 2026-01-31T03:00:00Z", o.at)
		}
	}
	if !o.change.Given() {
		return in, errors.New("no manifests given: name them with -f or -k")
	}
	if err := cliflags.RefuseNoEffect(o.flags, o.change.NoDirectories(o.base...), o.sandbox.NoNodes(true), o.sandbox.NoAuditFile()); err != nil {
		return in, err
	}
	if in.new, err = o.change.Load(o.In); err != nil {
		return in, fmt.Errorf("read the manifests:\n%w", err)
	}
	if len(o.base) > 0 {
		base := cliflags.Manifests{Files: o.base, Recursive: o.change.Recursive}
		if in.old, err = base.Load(o.In); err != nil {
			return in, fmt.Errorf("read the base:\n%w", err)
		}
	}
	return in, nil
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	in, err := o.read()
	if err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopping the sandbox")
	defer cancel()
	result, err := o.simulate(ctx, in)
	if err != nil {
		return explain.Cause(ctx, err)
	}
	if err := o.print(result, in.color); err != nil {
		return err
	}
	switch {
	case len(result.Unsettled) > 0:
		return &settle.UnsettledError{Reasons: result.Unsettled}
	case result.HasChanges:
		return exit.ErrChanged
	default:
		return nil
	}
}

// simulate runs both states and compares them.
func (o *Options) simulate(ctx context.Context, in diffInput) (*document.Plan, error) {
	spec, err := o.spec()
	if err != nil {
		return nil, err
	}
	var progress *console.Progress // made when there is something to wait for
	spec.Progress = func(text string) { progress.Line(text) }
	e, err := engine.New(spec)
	if err != nil {
		return nil, err
	}
	defer engineflags.ShutDown(e, o.ErrOut)
	progress = console.NewProgress(o.ErrOut)
	progress.Await(e.AwaitsSync)
	defer progress.Done()
	if err := e.Start(ctx); err != nil {
		return nil, err
	}
	follow.ReportWaits(e, o.ErrOut)
	return e.Plan(ctx, engine.Change{Base: in.old, Next: in.new, Namespace: o.namespace, At: in.at, Timeout: o.timeout})
}

// spec is what is run.
func (o *Options) spec() (engine.Spec, error) {
	sandbox, err := o.sandbox.Spec()
	info := about.Version()
	return engine.Spec{
		Sandbox: sandbox, Mode: state.ModeActive, Controllers: o.controllers, Horizon: o.horizon, Log: engineflags.LogOf(o.logs),
		Version: info.Version, Kubernetes: info.Kubernetes,
	}, err
}

func (o *Options) print(result *document.Plan, color bool) error {
	if o.output != "text" {
		return printing.Document(o.Out, o.output, result)
	}
	return render.WritePlan(o.Out, *result, render.PlanOptions{Color: color})
}
