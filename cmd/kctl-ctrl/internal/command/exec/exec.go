// Package exec is the command that runs a program of the user's own behind the guard.
package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/journal"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/tuibackend"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/ownfile"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are exec's flags.
type Options struct {
	genericiooptions.IOStreams
	Kubeconfig  *genericclioptions.ConfigFlags
	controllers *controllers.Options
	manifests   cliflags.Manifests
	sandbox     engineflags.Sandbox
	journal     journal.Flags
	Recording   engineflags.Recording
	logs        cliflags.Logs
	approval    engineflags.Approvals
	// flags are the command's, to see which were set.
	flags *pflag.FlagSet

	sandboxed   bool
	dryRun      string
	active      bool
	journalFile string
	// bounded is that file, once it is open.
	bounded *ownfile.Bounded
	// Printed is the file for what the command prints.
	Printed    *ownfile.Bounded
	OutputFile string
	screen     bool
	theme      string
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{IOStreams: streams, Kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "exec -- COMMAND [ARG...]",
		Short: "Start a controller of your own behind the guard, and show what it reads and writes",
		Long: `Start a command, an operator in any language, with a kubeconfig that leads to a
proxy in this program. What it lists, watches and writes appears in the journal
under its user agent, and passes the same guard as the loops of 'run': on the
current context its writes are answered here (--dry-run=client) or by the API
server without being stored (--dry-run=server); with --sandbox they are real, on
a control plane that is started for this command and removed with it.

In a dry run the command's leader election is answered here too: it is told that
the lease it asks for is free, and leads at once beside whoever really does.

With --ask each write of the command waits for a yes, in a dry run too, and with
--sandbox the command's alone: the loops there write as they do. It is asked on the
terminal itself, not on standard input and output; send the command's own output
elsewhere (--command-output) to keep the two apart. A write that is skipped is
answered as by a server with an error inside, on which a client backs off. Creates
and changes of the Leases by which it elects its leader are not asked about, for it
would give up meanwhile; the record says so. With --approve-policy a file says what
may be written, and a controller there is the first word of a user agent.

With --tui the screen takes the terminal, and questions wait there ('A'). The
command's output goes to a file, which 'X' shows. Leaving the screen ends the command
and what it has started: by SIGTERM, and after ten seconds by SIGKILL.

The journal goes to standard error, or to the file of --journal-file; standard
output is the command's. So are its exit code and the signals that this program
gets, but for SIGUSR1 with --approve-policy: that releases the brake. Signals that end
programs go to what the command has started too. KUBECONFIG names the kubeconfig; the variables by which a program in a pod
finds its API server are taken away. This is no jail: a command that finds other
credentials, in ~/.kube/config for one, and uses them, goes past the proxy.`,
		Example: `  # What would this operator do to the cluster, beside the one that runs there?
  kctl-ctrl exec -- go run ./cmd/manager

  # Let it work, on a control plane of its own with its CRDs and real controllers
  kctl-ctrl exec --sandbox -f config/crd -- ./bin/manager

  # Look at each write before it is made
  kctl-ctrl exec --sandbox -f config/crd --ask --command-output op.log -- ./bin/manager

  # The same on the screen, with what it lists, watches and writes
  kctl-ctrl exec --tui --sandbox -f config/crd --ask -- ./bin/manager

  # An operator that wants its kubeconfig as a flag; the journal as a recording
  kctl-ctrl exec --record op.jsonl.zst -- sh -c 'exec ./operator --kubeconfig="$KUBECONFIG"'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: put the command to run after --", args[0])
			}
			if len(args) == 0 {
				return fmt.Errorf("name the command to run after --\nsee '%s --help'", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.Run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	o.flags = flags
	flags.BoolVar(&o.sandboxed, "sandbox", false, "run on an embedded control plane, with its loops, instead of the current context")
	flags.StringVar(&o.dryRun, "dry-run", "", "client: writes are answered in this program (the default on a cluster); server: they are sent with dryRun=All")
	flags.BoolVar(&o.active, "active", false, "write for real; only on a sandbox (the default with --sandbox)")
	flags.StringVar(&o.journalFile, "journal-file", "", "print the journal to this file instead of standard error; one that exists needs --force")
	flags.StringVar(&o.OutputFile, "command-output", "", "send what the command prints to this file; one that exists needs --force")
	flags.BoolVar(&o.screen, "tui", false, "show the screen of 'tui' while the command runs, and send what it prints to a file")
	flags.StringVar(&o.theme, "theme", "default", "with --tui: colours: default, high-contrast or mono")
	_ = cmd.RegisterFlagCompletionFunc("theme", tuibackend.CompleteThemes)
	o.approval.AddTo(flags, "the command")
	o.journal.AddTo(flags)
	o.Recording.AddTo(flags)
	o.manifests.AddTo(flags, "apply these manifests to the sandbox first")
	o.sandbox.AddTo(flags)
	o.logs.AddTo(flags)
	controllerflags.Add(cmd, &o.controllers)
	cliflags.AddCluster(o.Kubeconfig, flags)
	return cmd
}

func (o *Options) check() (state.Mode, error) {
	mode, err := engineflags.ModeOf(o.active, o.dryRun, o.sandboxed)
	if err != nil {
		return "", err
	}
	if err := errors.Join(o.journal.Check(), o.Recording.Check()); err != nil {
		return "", err
	}
	switch {
	case o.screen && o.journalFile == "" && engineflags.ChangedOf(o.flags, o.journal.Described(), "color") != "":
		return "", fmt.Errorf("--%s is about the journal as lines, and --tui has the terminal: name a file for it with --journal-file", engineflags.ChangedOf(o.flags, o.journal.Described(), "color"))
	case !o.screen && o.flags.Changed("theme"):
		return "", errors.New("--theme is for the screen: add --tui")
	}
	if err := o.checkEffects(); err != nil {
		return "", err
	}
	if o.sandboxed {
		return mode, nil
	}
	if o.manifests.Given() {
		return "", errors.New("-f and -k apply manifests to a sandbox: add --sandbox, or apply them with kubectl")
	}
	described := pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	(&engineflags.Sandbox{}).AddTo(described)
	if set := engineflags.ChangedOf(o.flags, described); set != "" {
		return "", fmt.Errorf("--%s describes a sandbox: add --sandbox", set)
	}
	loops, err := controllers.NewOptions()
	if err != nil {
		return "", err
	}
	described = pflag.NewFlagSet("loops", pflag.ContinueOnError)
	loops.AddFlags(described)
	if set := engineflags.ChangedOf(o.flags, described); set != "" {
		return "", fmt.Errorf("--%s is for the loops of a sandbox: add --sandbox; on a cluster exec runs none", set)
	}
	return mode, nil
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context, args []string) error {
	mode, err := o.check()
	if err != nil {
		return err
	}
	var objects []plan.Object
	if o.manifests.Given() {
		if objects, err = o.manifests.Load(o.In); err != nil {
			return err
		}
	}
	asking, err := o.asking()
	if err != nil {
		return err
	}
	defer asking.close()
	if o.screen {
		return o.runScreen(ctx, mode, objects, asking, args)
	}
	lines, err := o.journalOut()
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }()
	command, err := o.command(args, asking)
	if err != nil {
		return err
	}
	defer command.Close()
	ctx, signals := PassSignals(ctx, o.ErrOut, asking.passed(PassedSignals())...)
	defer signals.Stop()

	var progress *console.Progress // made when there is something to wait for
	e, recorder, stop, err := o.engine(mode, asking, 0, func(text string) { progress.Line(text) })
	if err != nil {
		return err
	}
	defer stop()
	printer := follow.Print(&o.journal, genericiooptions.IOStreams{In: o.In, Out: lines, ErrOut: o.ErrOut}, e, nil)
	ctx, endAsking := asking.start(ctx, e, printer)

	progress = console.NewProgress(o.ErrOut)
	err = o.Work(ctx, e, progress, signals, objects, command)
	endAsking() // it holds the journal up
	engineflags.ShutDown(e, o.ErrOut)
	recorder.Wait()
	printer.Wait()
	return o.report(e, err, printer, recorder)
}

// Spec is what the flags ask for.
func (o *Options) Spec(mode state.Mode, asking *CommandAsking) (engine.Spec, error) {
	info := about.Version()
	spec := engine.Spec{
		Command: true, Mode: mode, Controllers: o.controllers, Namespace: *o.Kubeconfig.Namespace, Approvals: asking.Approvals,
		Log: engineflags.LogOf(o.logs), Version: info.Version, Kubernetes: info.Kubernetes,
	}
	var err error
	if o.sandboxed {
		spec.Sandbox, err = o.sandbox.Spec()
		return spec, err
	}
	loader := o.Kubeconfig.ToRawKubeConfigLoader()
	target, err := connect.TargetOf(loader)
	if err != nil {
		return spec, err
	}
	name, err := cliflags.ContextOf(loader, *o.Kubeconfig.Context)
	spec.Cluster = &engine.Cluster{Context: name, Target: target}
	return spec, err
}

// engine is one for a command whose writes may be asked about, and what records it. Until
// stop is called, a signal releases the brake of its policy.
func (o *Options) engine(mode state.Mode, asking *CommandAsking, horizon time.Duration, progress func(string)) (e *engine.Engine, r *engineflags.Recorder, stop func(), err error) {
	spec, err := o.Spec(mode, asking)
	if err != nil {
		return nil, nil, nil, err
	}
	spec.Horizon, spec.Progress = horizon, progress
	if e, err = engine.New(spec); err != nil {
		return nil, nil, nil, err
	}
	if r, err = o.Recording.Start(e); err != nil {
		engineflags.ShutDown(e, o.ErrOut)
		return nil, nil, nil, err
	}
	stop = func() {}
	if asking.Policy != nil {
		stop = follow.ReleaseBySignal(e)
	}
	return e, r, stop, nil
}

// report says what there is to say at the end. What the command came to counts more
// than what went wrong with that.
func (o *Options) report(e *engine.Engine, err error, printer *follow.Printer, recorder *engineflags.Recorder) error {
	var ended *child.ExitError
	if err != nil && !errors.As(err, &ended) {
		return err
	}
	problem := recorder.Report(o.ErrOut)
	if printer != nil {
		problem = errors.Join(printer.Summary(e), problem)
	}
	for _, file := range []*ownfile.Bounded{o.bounded, o.Printed} {
		if file != nil {
			file.Report(o.ErrOut)
		}
	}
	if ended == nil {
		return problem
	}
	if problem != nil {
		fmt.Fprintln(o.ErrOut, "warning:", exit.Printable(problem))
	}
	return ended
}

// command is what to run, without the way to the proxy.
func (o *Options) command(args []string, asking *CommandAsking) (*UserCommand, error) {
	c := &UserCommand{Command: child.Command{
		Args: args, In: asking.input(o.In), Out: render.Bare(o.Out), ErrOut: render.Bare(o.ErrOut), Apart: !child.HasTerminal(),
	}}
	if o.OutputFile == "" {
		return c, nil
	}
	file, err := o.OpenOutput(o.OutputFile)
	if err != nil {
		return nil, err
	}
	c.SendOutput(file, o.OutputFile)
	return c, nil
}

// OpenOutput opens the file for what the command prints, which is bounded as the journal
// file is.
func (o *Options) OpenOutput(path string) (*ownfile.Bounded, error) {
	file, err := ownfile.Create(path, o.Recording.Force)
	if err != nil {
		return nil, fmt.Errorf("open the file for what the command prints: %w", err)
	}
	o.Printed = &ownfile.Bounded{File: file, Most: o.Recording.Bytes, Cut: true, What: "bytes of what the command printed", From: render.Sanitise(path)}
	return o.Printed, nil
}

// describeCommand leaves the arguments out, which may be credentials: the journal is
// recorded, and recordings are sent around.
func describeCommand(args []string) string {
	switch n := len(args) - 1; n {
	case 0:
		return args[0]
	case 1:
		return args[0] + " with 1 argument"
	default:
		return fmt.Sprintf("%s with %d arguments", args[0], n)
	}
}

// journalOut is where the journal is printed.
func (o *Options) journalOut() (io.WriteCloser, error) {
	if o.journalFile == "" {
		return keptOpen{o.ErrOut}, nil
	}
	file, err := ownfile.Create(o.journalFile, o.Recording.Force)
	if err != nil {
		return nil, fmt.Errorf("open the file for the journal: %w", err)
	}
	o.bounded = &ownfile.Bounded{File: file, Most: o.Recording.Bytes, What: "entries", From: "the journal file"}
	return journalFile{render.Inert(o.bounded), o.bounded}, nil
}

// journalFile is the file for the journal, behind what keeps it inert.
type journalFile struct {
	io.Writer
	io.Closer
}

// keptOpen is a stream that is not ours to close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// Work starts what the command needs, then the command, and waits for its end.
func (o *Options) Work(ctx context.Context, e *engine.Engine, progress *console.Progress, signals *signalPasser, objects []plan.Object, command *UserCommand) error {
	progress.Await(e.AwaitsSync)
	defer progress.Done()
	if err := o.prepare(ctx, e, objects, command); err != nil {
		return err
	}
	progress.Done()
	return command.Run(ctx, &signals.Signals, e.Lost(), e.Err)
}

// prepare starts what the command needs, and gives it the way there.
func (o *Options) prepare(ctx context.Context, e *engine.Engine, objects []plan.Object, command *UserCommand) error {
	kubeconfig, err := o.startProxy(ctx, e, objects)
	if err != nil {
		return explain.Cause(ctx, err)
	}
	if e.Manager() != nil { // there is something to look into
		e.Attachable("exec")
	}
	e.Note("exec", "starts %s", describeCommand(command.Args))
	command.Env = child.Environment(os.Environ(), kubeconfig)
	return nil
}

// startProxy starts the sandbox, if there is one, applies the manifests, and opens the
// way for the command.
func (o *Options) startProxy(ctx context.Context, e *engine.Engine, objects []plan.Object) (kubeconfig string, err error) {
	if err := e.Start(ctx); err != nil {
		return "", err
	}
	namespace := *o.Kubeconfig.Namespace
	if !o.sandboxed {
		if namespace, _, err = o.Kubeconfig.ToRawKubeConfigLoader().Namespace(); err != nil {
			return "", connect.LoadError(err)
		}
	}
	if len(objects) > 0 {
		if err := e.Apply(ctx, objects, namespace); err != nil {
			return "", err
		}
	}
	return e.StartProxy(ctx, namespace)
}

// checkEffects is engineflags.Options.checkEffects for exec.
func (o *Options) checkEffects() error {
	return cliflags.RefuseNoEffect(o.flags,
		cliflags.NoEffect{In: o.sandboxed, Flags: cliflags.ClusterNames(), Why: engineflags.OwnControlPlane},
		cliflags.NoEffect{In: o.Recording.File == "" && o.journalFile == "" && o.OutputFile == "" && o.sandbox.AuditLog == "" && !o.screen, Flags: []string{"max-size"}, Why: "without a file to bound: --record, --journal-file, --command-output or --audit-log"},
		cliflags.NoEffect{In: o.Recording.File == "" && o.journalFile == "" && o.OutputFile == "" && o.sandbox.AuditLog == "", Flags: []string{"force"}, Why: "without a file to replace: --record, --journal-file, --command-output or --audit-log"},
		o.manifests.NoDirectories(),
		o.sandbox.NoNodes(o.sandboxed),
	)
}
