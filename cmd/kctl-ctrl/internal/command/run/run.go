// Package run is the command that runs controllers and prints what they do, and record,
// which is run without the printing.
package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options is run, or record.
type Options struct {
	engineflags.Options
	// quiet says how far the recording is, and prints no journal.
	quiet bool
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{Options: engineflags.Options{IOStreams: streams, Kubeconfig: genericclioptions.NewConfigFlags(true)}}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the real control loops and print what they do, with causes",
		Long: `Run the control loops of kube-controller-manager and print, line by line, what
each of them sees and writes, and why.

On the current context the loops run dry: what they would write is answered
inside this program (--dry-run=client) or by the API server without being
stored (--dry-run=server). A dry run shows the first hop: a pod that was never
created is seen by nobody. With --sandbox the loops write for real, on a control
plane that is started for this command and removed with it.

With --active and --confirm=CONTEXT the loops of --controllers write to the cluster
of that context for real, while this process holds the lease of
kube-controller-manager. It stands by until the lease is free and never takes it
from a live holder; when the lease is lost it ends with exit code 4. Contexts named
in protectedContexts of the configuration ('info' says where it is) are never
written to, unless they lead to a sandbox of yours. The --leader-elect-* flags are
kube-controller-manager's.

With --scheduler it is kube-scheduler that runs, with upstream's default profile and
no loops: dry, or with --active while holding its own lease. Both at once take two
processes.`,
		Example: `  # What happens to these manifests, until nothing moves any more
  kctl-ctrl run --sandbox -f examples/shop/ --until-settled

  # What would the Deployment and ReplicaSet controllers do here now?
  kctl-ctrl run --controllers=deployment,replicaset --for 10s

  # Ask before each write of this loop
  kctl-ctrl run --sandbox -f examples/shop/ --controllers=deployment --ask

  # The whole journal, for a program
  kctl-ctrl run --sandbox -f examples/shop/ --until-settled -o json

  # The same as a file, to look at again with replay or to send with a bug report
  kctl-ctrl run --sandbox -f examples/shop/ --until-settled --record shop.jsonl.zst`,
		Args: cliflags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	o.AddTo(cmd)
	o.Journal.AddTo(cmd.Flags())
	o.Recording.AddTo(cmd.Flags())
	o.Approval.AddTo(cmd.Flags(), "the loops")
	o.AddScheduler(cmd.Flags())
	return cmd
}

func (o *Options) check() (state.Mode, error) {
	mode, err := o.Mode()
	if err != nil {
		return "", err
	}
	if err := errors.Join(o.Journal.Check(), o.Recording.Check(), o.Approval.Check(mode)); err != nil {
		return "", err
	}
	if err := o.CheckScheduler(); err != nil {
		return "", err
	}
	if err := o.checkEffects(); err != nil {
		return "", err
	}
	if o.Active && !o.Sandboxed {
		if err := controllerflags.CheckElection(o.Set); err != nil {
			return "", err
		}
	}
	switch {
	case (!o.Active || o.Sandboxed) && controllerflags.NeedsActive(o.Set) != "":
		return "", fmt.Errorf("--%s is about --active on a cluster: add --active, without --sandbox", controllerflags.NeedsActive(o.Set))
	case o.UntilSettled && o.Duration > 0:
		return "", errors.New("--until-settled and --for exclude each other")
	case o.Manifests.Given() && !o.Sandboxed:
		return "", errors.New("-f and -k apply manifests to a sandbox: add --sandbox, or apply them with kubectl")
	case !o.Sandboxed && o.SandboxFlag() != "":
		return "", fmt.Errorf("--%s describes a sandbox: add --sandbox", o.SandboxFlag())
	case o.UntilSettled && !o.Sandboxed && o.Timeout <= 0:
		return "", errors.New("--until-settled on a cluster needs a --timeout above 0: others write there too, and it may never settle")
	case o.Horizon < 0 || o.Timeout < 0 || o.Duration < 0:
		return "", errors.New("--horizon, --timeout and --for must not be negative")
	}
	return mode, nil
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	mode, err := o.check()
	if err != nil {
		return err
	}
	var objects []plan.Object
	if o.Manifests.Given() {
		if objects, err = o.Manifests.Load(o.In); err != nil {
			return err
		}
	}
	asking, err := o.Approval.Load(o.In, o.ErrOut)
	if err != nil {
		return err
	}
	spec, err := o.Spec(mode, asking)
	if err != nil {
		return err
	}
	var progress *console.Progress // made when there is something to wait for
	spec.Progress = func(text string) { progress.Line(text) }
	e, err := engine.New(spec)
	if err != nil {
		return err
	}
	defer console.OutlivePipes()()
	ctx, cancel := console.Ending{Stderr: o.ErrOut, Within: console.EndsWithin, Stopping: func() string { return engineflags.Stopping(e) }, On: console.StopSignals()}.Context(ctx)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-e.Lost():
			end(e.Err())
		case <-ctx.Done():
		}
	}()
	recorder, err := o.Recording.Start(e)
	if err != nil {
		engineflags.ShutDown(e, o.ErrOut)
		return err
	}
	var printer follow.Follower
	endAsking := func() {}
	if o.quiet {
		following, endWith := context.WithCancelCause(ctx)
		ctx, printer = following, recorder.Follow(o.IOStreams, endWith)
		if mode == state.ModeActive && !o.Sandboxed {
			printer = follow.Announce(e, printer, o.ErrOut)
		}
	} else {
		journal := follow.Print(&o.Journal, o.IOStreams, e, end)
		printer = journal
		if asking.Ask {
			asked, quit := context.WithCancelCause(ctx)
			ctx = asked
			endAsking = follow.Ask(ctx, e, journal, o.IOStreams, quit)
		}
	}
	defer follow.ReleaseBySignal(e)()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			endAsking() // it holds the journal up
			engineflags.ShutDown(e, o.ErrOut)
			recorder.Wait()
			printer.Wait()
		}
	}
	defer stop()

	progress = console.NewProgress(o.ErrOut)
	err = o.work(ctx, e, progress, objects)
	progress.Done()
	stop()
	var unsettled *settle.UnsettledError
	var lost *election.LostError
	var unsynced *engine.UnsyncedError
	if err == nil || errors.As(err, &unsettled) || errors.As(err, &unsynced) || errors.As(err, &lost) || errors.Is(err, exit.ErrInterrupted) {
		err = errors.Join(err, printer.Summary(e), recorder.Report(o.ErrOut))
	}
	return err
}

// work starts everything, applies what is to be applied, and waits for the end.
func (o *Options) work(ctx context.Context, e *engine.Engine, progress *console.Progress, objects []plan.Object) error {
	progress.Await(e.AwaitsSync)
	defer progress.Done()
	var health *healthServer
	var err error
	if o.HealthAddress != "" { // before anything is taken that a bad address would have to give back
		if health, err = StartHealth(o.HealthAddress, e.HealthChecks); err != nil {
			return err
		}
		defer health.Close()
	}
	if err := e.Start(ctx); err != nil {
		return explain.Cause(ctx, o.WithRole(err))
	}
	progress.Done()
	if !o.Scheduler { // it has no queues and informers to look into
		e.Attachable("run")
	}
	if health != nil {
		fmt.Fprintf(o.ErrOut, "health checks on http://%s/healthz\n", health.address())
	}
	if len(objects) > 0 {
		if err := e.Apply(ctx, objects, *o.Kubeconfig.Namespace); err != nil {
			return explain.Cause(ctx, err)
		}
	}
	return o.wait(ctx, e)
}
