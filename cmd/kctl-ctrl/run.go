package main

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
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// runCommand is run, or record.
type runCommand struct {
	runOptions
	// quiet says how far the recording is, and prints no journal.
	quiet bool
}

func newRunCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &runCommand{runOptions: runOptions{IOStreams: streams, kubeconfig: genericclioptions.NewConfigFlags(true)}}
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
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.addTo(cmd)
	o.journal.AddTo(cmd.Flags())
	o.recording.addTo(cmd.Flags())
	o.approval.addTo(cmd.Flags(), "the loops")
	o.addScheduler(cmd.Flags())
	return cmd
}

func (o *runCommand) check() (state.Mode, error) {
	mode, err := o.mode()
	if err != nil {
		return "", err
	}
	if err := errors.Join(o.journal.Check(), o.recording.check(), o.approval.check(mode)); err != nil {
		return "", err
	}
	if err := o.checkScheduler(); err != nil {
		return "", err
	}
	if err := o.checkEffects(); err != nil {
		return "", err
	}
	if o.active && !o.sandboxed {
		if err := controllerflags.CheckElection(o.flags); err != nil {
			return "", err
		}
	}
	switch {
	case (!o.active || o.sandboxed) && controllerflags.NeedsActive(o.flags) != "":
		return "", fmt.Errorf("--%s is about --active on a cluster: add --active, without --sandbox", controllerflags.NeedsActive(o.flags))
	case o.untilSettled && o.duration > 0:
		return "", errors.New("--until-settled and --for exclude each other")
	case o.manifests.Given() && !o.sandboxed:
		return "", errors.New("-f and -k apply manifests to a sandbox: add --sandbox, or apply them with kubectl")
	case !o.sandboxed && o.sandboxFlag() != "":
		return "", fmt.Errorf("--%s describes a sandbox: add --sandbox", o.sandboxFlag())
	case o.untilSettled && !o.sandboxed && o.timeout <= 0:
		return "", errors.New("--until-settled on a cluster needs a --timeout above 0: others write there too, and it may never settle")
	case o.horizon < 0 || o.timeout < 0 || o.duration < 0:
		return "", errors.New("--horizon, --timeout and --for must not be negative")
	}
	return mode, nil
}

func (o *runCommand) run(ctx context.Context) error {
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
	asking, err := o.approval.load(o.In, o.ErrOut)
	if err != nil {
		return err
	}
	spec, err := o.spec(mode, asking)
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
	ctx, cancel := console.Ending{Stderr: o.ErrOut, Within: console.EndsWithin, Stopping: func() string { return stopping(e) }, On: console.StopSignals()}.Context(ctx)
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
	recorder, err := o.recording.start(e)
	if err != nil {
		shutDown(e, o.ErrOut)
		return err
	}
	var printer follower
	endAsking := func() {}
	if o.quiet {
		following, endWith := context.WithCancelCause(ctx)
		ctx, printer = following, recorder.follow(o.IOStreams, endWith)
		if mode == state.ModeActive && !o.sandboxed {
			printer = announce(e, printer, o.ErrOut)
		}
	} else {
		journal := printJournal(&o.journal, o.IOStreams, e, end)
		printer = journal
		if asking.Ask {
			asked, quit := context.WithCancelCause(ctx)
			ctx = asked
			endAsking = startAsker(ctx, e, journal, o.IOStreams, quit)
		}
	}
	defer releaseBySignal(e)()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			endAsking() // it holds the journal up
			shutDown(e, o.ErrOut)
			recorder.wait()
			printer.wait()
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
		err = errors.Join(err, printer.summary(e), recorder.report(o.ErrOut))
	}
	return err
}

// work starts everything, applies what is to be applied, and waits for the end.
func (o *runCommand) work(ctx context.Context, e *engine.Engine, progress *console.Progress, objects []plan.Object) error {
	progress.Await(e.AwaitsSync)
	defer progress.Done()
	var health *healthServer
	var err error
	if o.healthAddress != "" { // before anything is taken that a bad address would have to give back
		if health, err = startHealth(o.healthAddress, e.HealthChecks); err != nil {
			return err
		}
		defer health.close()
	}
	if err := e.Start(ctx); err != nil {
		return explain.Cause(ctx, o.withRole(err))
	}
	progress.Done()
	if !o.scheduler { // it has no queues and informers to look into
		e.Attachable("run")
	}
	if health != nil {
		fmt.Fprintf(o.ErrOut, "health checks on http://%s/healthz\n", health.address())
	}
	if len(objects) > 0 {
		if err := e.Apply(ctx, objects, *o.kubeconfig.Namespace); err != nil {
			return explain.Cause(ctx, err)
		}
	}
	return o.wait(ctx, e)
}
