// Package tui is the command that opens the TUI: on a cluster, a sandbox or a recording.
package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/supervise"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/tuibackend"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/tui"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the screen's flags. What runs behind it is started as `run`
// does.
type Options struct {
	engineflags.Options
	from  string
	Plain bool
	theme string
	page  int
	open  string // a type
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := NewOptions(streams)
	cmd := &cobra.Command{
		Use:   "tui [TYPE]",
		Short: "Watch the loops think, on a screen",
		Long: `Show the loops, their queues, what their informers hold, what they write, who
owns what, revisions, leases, and the journal as cause and effect.

On the current context the screen observes: it reads what is on the screen, and no
loop runs until you start one, dry, on the first page or with --controllers. With
--sandbox the loops run for real on a control plane of their own. With --from it
replays a recording.

With --active, or L, the loops of --controllers write to the cluster of the context
for real, while this process holds the lease of kube-controller-manager. The screen
shows first what that means, and asks for the context's name. When the lease is lost
the loops are stopped and the screen observes. See 'run --help'.

A TYPE, such as pods or deployments.apps, opens its cache first: what an informer
of it holds, from the first rows that come.`,
		Example: `  # The current context, with nothing but your eyes
  kctl-ctrl tui

  # What an informer of pods holds, live
  kctl-ctrl tui pods

  # The real loops at work on the shop of the README
  kctl-ctrl tui --sandbox -f examples/shop/

  # What would these two loops do here now?
  kctl-ctrl tui --controllers=deployment,replicaset

  # Ask for the context's name, then let them write while this process leads
  kctl-ctrl tui --active --controllers=deployment,replicaset`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("name one type, as in pods or deployments.apps")
			}
			return nil
		},
		ValidArgsFunction: controllerflags.CompleteInformerTypes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.open = args[0]
			}
			return o.Run(cmd.Context())
		},
	}
	o.addTo(cmd)
	return cmd
}

// NewOptions are those without flags: for the program without a command.
func NewOptions(streams genericiooptions.IOStreams) *Options {
	return &Options{Options: engineflags.Options{IOStreams: streams, Kubeconfig: genericclioptions.NewConfigFlags(true)}}
}

func (o *Options) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.Set = flags
	flags.BoolVar(&o.Sandboxed, "sandbox", false, "show an embedded control plane and its loops instead of the current context")
	flags.StringVar(&o.from, "from", "", "replay this recording")
	flags.BoolVar(&o.Plain, "plain", false, "print lines instead of a screen, for screen readers and pipes")
	flags.StringVar(&o.theme, "theme", "default", "colours: default, high-contrast or mono")
	flags.IntVar(&o.page, "page", 1, "the page shown first")
	flags.StringVar(&o.DryRun, "dry-run", "", "what becomes of the writes of loops that you start: client (the default) or server")
	flags.BoolVar(&o.Active, "active", false, "ask on the screen whether the loops of --controllers are to write for real, while this process holds the lease of kube-controller-manager")
	o.Elected.AddTo(flags)
	_ = flags.MarkHidden("confirm") // it is typed on the screen: see check
	controllerflags.AddImpersonate(flags, &o.Impersonate)
	o.Manifests.AddTo(flags, "apply these manifests to the sandbox")
	o.Sandbox.AddTo(flags)
	engineflags.AddAuditFile(flags)
	o.Logs.AddTo(flags)
	o.Approval.AddTo(flags, "the loops")
	controllerflags.Add(cmd, &o.Controllers)
	controllerflags.AddUntapped(cmd, o.Controllers)
	if o.Controllers != nil {
		o.Controllers.AddElectionFlags(flags)
	}
	cliflags.AddCluster(o.Kubeconfig, flags)
	_ = cmd.RegisterFlagCompletionFunc("theme", tuibackend.CompleteThemes)
}

func (o *Options) check() (state.Mode, error) {
	mode, err := o.Mode()
	if err != nil {
		return "", err
	}
	switch {
	case o.Set.Changed("confirm"):
		return "", errors.New("--confirm is run's: the screen shows what active mode means and asks for the context's name itself: leave it out")
	case o.from != "" && o.Active:
		return "", errors.New("--from shows a recording, in which nothing is written: leave out --active")
	case o.Plain && o.Active && !o.Sandboxed:
		return "", errors.New("--plain has nobody to ask for the context's name: 'run --active --confirm=CONTEXT' prints lines")
	case (o.from != "" || o.Sandboxed) && controllerflags.NeedsActive(o.Set) != "":
		return "", fmt.Errorf("--%s is about active mode on a cluster: leave it out", controllerflags.NeedsActive(o.Set))
	case o.from != "" && o.Approval.Given():
		return "", errors.New("--from shows a recording, in which nothing is written: leave out --ask and --approve-policy")
	case o.from != "" && o.Sandboxed:
		return "", errors.New("--from and --sandbox exclude each other")
	case o.Manifests.Given() && !o.Sandboxed:
		return "", errors.New("-f and -k apply manifests to a sandbox: add --sandbox, or apply them with kubectl")
	case !o.Sandboxed && o.SandboxFlag() != "":
		return "", fmt.Errorf("--%s describes a sandbox: add --sandbox", o.SandboxFlag())
	case o.page < 1 || o.page > tui.Pages():
		return "", fmt.Errorf("--page %d: the pages are 1 to %d", o.page, tui.Pages())
	}
	return mode, o.checkEffects()
}

// errNoTerminal is what the screen ends with in a pipe.
var errNoTerminal = errors.New("the screen needs a terminal: 'run' prints the journal as lines, and 'tui --plain' a page")

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	mode, err := o.check()
	if err != nil {
		return err
	}
	theme, err := tuibackend.Theme(o.theme, o.Out, os.Getenv)
	if err != nil {
		return err
	}
	dumb := os.Getenv("TERM") == "dumb"
	if !o.Plain && !dumb && (!console.IsTerminal(o.Out) || !console.IsTerminal(o.In)) {
		return errNoTerminal
	}
	o.Plain = o.Plain || dumb
	if !o.Plain {
		if err, done := supervise.Run(ctx, o.IOStreams); done {
			return err
		}
	}
	if o.from != "" {
		return o.replay(ctx, theme)
	}
	if err := o.Approval.Check(mode); err != nil {
		return err
	}
	deciding, err := o.Approval.LoadFor(!o.Plain, controllers.Resolve)
	if err != nil {
		return err
	}
	if !o.Sandboxed {
		if err := o.offerSandbox(); err != nil {
			return err
		}
		if o.Sandboxed {
			mode = state.ModeActive
		}
	}
	var objects []plan.Object
	if o.Manifests.Given() {
		if objects, err = o.Manifests.Load(o.In); err != nil {
			return err
		}
	}
	if !o.Sandboxed {
		o.Controllers.SelectByDefault() // none: nobody loads an API server by looking
		if mode == state.ModeActive {
			mode = state.ModeDryRunClient // until the user has typed the context's name
		}
	}
	spec, err := o.Spec(mode, deciding)
	if err != nil {
		return err
	}
	spec.Horizon = 3 * time.Second
	if !o.Plain {
		if err := console.KeepFromPlugins(); err != nil {
			return err
		}
	}
	ctx, cancel := o.Ending().Context(ctx)
	defer cancel()
	e, err := engine.New(spec)
	if err != nil {
		return err
	}
	defer engineflags.ShutDown(e, o.ErrOut)
	defer follow.ReleaseBySignal(e)()
	options := tui.Options{
		Parts:    page.Parts{Theme: theme, Location: time.Local, Observing: !o.Sandboxed && !o.Set.Changed("controllers")},
		Journal:  tuibackend.Journal{Hub: e.Journal()},
		Start:    o.page,
		Open:     o.open,
		Requests: e.Requests,
		Connect: func(ctx context.Context) (func(*tui.Options), error) {
			return o.connect(ctx, e, spec.Cluster, objects)
		},
	}
	return o.show(ctx, options)
}

// Ending is a screen's, or a command's that prints lines.
func (o *Options) Ending() console.Ending {
	if o.Plain {
		return console.EndingOf(console.Discard{}, "")
	}
	return console.EndingOfScreen(console.EndsWithin, o.IOStreams)
}

// show runs the screen, or its lines, until the user leaves.
func (o *Options) show(ctx context.Context, options tui.Options) error {
	options.Now = tuibackend.OrNow(options.Now)
	if o.Plain {
		return tui.Plain(ctx, options, o.Out)
	}
	return tuibackend.Show(ctx, options, o.IOStreams)
}

// offerSandbox asks whether to start the sandbox where no cluster is configured.
func (o *Options) offerSandbox() error {
	_, err := connect.TargetOf(o.Kubeconfig.ToRawKubeConfigLoader())
	if !errors.Is(err, connect.ErrNoCluster) || o.Plain || !console.IsTerminal(o.In) {
		return err
	}
	fmt.Fprint(o.ErrOut, "No cluster is configured. Start the sandbox, a control plane inside this program? [Y/n] ")
	var answer string
	_, _ = fmt.Fscanln(o.In, &answer)
	switch answer {
	case "", "y", "Y", "yes":
		o.Sandboxed = true
		return nil
	}
	return err
}

// connect starts what is behind the screen, while it is up.
func (o *Options) connect(ctx context.Context, e *engine.Engine, cluster *engine.Cluster, objects []plan.Object) (func(*tui.Options), error) {
	var reading *rest.Config
	var kubeconfig string
	namespace := *o.Kubeconfig.Namespace
	err := e.Start(ctx)
	switch {
	case err != nil:
	case o.Sandboxed:
		if reading, err = e.ReadOnlyConfig(); err == nil {
			kubeconfig, err = e.Sandbox().WriteKubeconfig("")
		}
	default:
		reading, err = cliflags.ReadOnlyConfig(o.Kubeconfig)
	}
	if err != nil {
		return nil, explain.Cause(ctx, o.WithRole(err))
	}
	parts, err := tuibackend.Parts(e, reading, namespace, kubeconfig)
	if err != nil {
		return nil, err
	}
	e.Attachable("tui")
	if len(objects) > 0 {
		if err := e.Apply(ctx, objects, namespace); err != nil {
			return nil, explain.Cause(ctx, err)
		}
	}
	if cluster == nil {
		return parts, nil
	}
	active := newScreenActive(o, e, cluster)
	return func(t *tui.Options) {
		parts(t)
		t.Active, t.Stand, t.StandFor = active, o.Active, o.namedLoops(e)
	}, nil
}

// AddRootFlags gives the root command the flags of tui: it is what is run
// without a verb. Only a few are listed in its help.
func AddRootFlags(root *cobra.Command, o *Options) {
	o.addTo(root)
	root.Flags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !slices.Contains([]string{"sandbox", "from", "plain", "filename", "context", "namespace", "controllers"}, f.Name)
	})
}

// checkEffects is engineflags.Options.checkEffects for the TUI.
func (o *Options) checkEffects() error {
	return cliflags.RefuseNoEffect(o.Set,
		cliflags.NoEffect{In: o.from != "", Flags: cliflags.FlagsBeside(o.Set, "from", "plain", "theme", "page", "active", "sandbox", "ask", "approve-policy"), Why: "with --from, which shows a recording: leave one of them out"},
		o.Sandbox.NoAuditFile(),
		cliflags.NoEffect{In: o.Plain, Flags: []string{"theme"}, Why: "with --plain, which prints no colours: leave one of them out"},
		cliflags.NoEffect{In: o.Sandboxed, Flags: cliflags.ClusterNames(), Why: engineflags.OwnControlPlane},
		o.Manifests.NoDirectories(),
		o.Sandbox.NoNodes(o.Sandboxed),
	)
}
