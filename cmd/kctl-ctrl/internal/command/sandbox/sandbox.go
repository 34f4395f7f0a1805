// Package sandbox is the command that starts a control plane, for a shell or a program.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

type sandboxCommandOptions struct {
	genericiooptions.IOStreams
	controllers *controllers.Options
	flags       *pflag.FlagSet
	sandbox     engineflags.Sandbox
	logs        cliflags.Logs
	kubeconfig  string
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &sandboxCommandOptions{IOStreams: streams}
	cmd := &cobra.Command{
		Use:   "sandbox [-- COMMAND [ARG...]]",
		Short: "Start a control plane from this binary, with loops, scheduler and nodes",
		Long: `Start etcd, kube-apiserver, the control loops, kube-scheduler and simulated
nodes, all from this binary, and write a kubeconfig for them. Nothing else is
needed on the machine and nothing is left when the command ends.

With a command after -- that command runs with KUBECONFIG set, and its exit
code is passed on. --controllers chooses the loops; --controllers= starts none
and leaves their place to your own.`,
		Example: `  # A shell with a cluster in it
  kctl-ctrl sandbox -- bash

  # Run your operator's tests against a cluster with real controllers
  kctl-ctrl sandbox -- go test ./...

  # An empty place for a controller manager of your own
  kctl-ctrl sandbox --controllers= --kubeconfig ./sandbox.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: put the command to run after --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	o.flags = flags
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "write the kubeconfig to this file, and remove it at the end unless there is more in it by then (default: in the sandbox's own directory)")
	o.sandbox.AddTo(flags)
	engineflags.AddAuditFile(flags)
	o.logs.AddTo(flags)
	controllerflags.Add(cmd, &o.controllers)
	controllerflags.AddUntapped(cmd, o.controllers)
	return cmd
}

func (o *sandboxCommandOptions) run(ctx context.Context, args []string) (err error) {
	if err := cliflags.RefuseNoEffect(o.flags, o.sandbox.NoNodes(true), o.sandbox.NoAuditFile()); err != nil {
		return err
	}
	if o.kubeconfig != "" { // before anything starts
		if err := sandbox.CheckKubeconfig(o.kubeconfig); err != nil {
			return err
		}
	}
	spec, err := o.spec()
	if err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopping the sandbox", o.stopSignals(args)...)
	defer cancel()
	begin := time.Now()
	var progress *console.Progress // made when there is something to wait for
	spec.Progress = func(text string) { progress.Line(text) }
	e, err := engine.New(spec)
	if err != nil {
		return err
	}
	defer engineflags.ShutDown(e, o.ErrOut)
	progress = console.NewProgress(o.ErrOut)
	progress.Await(e.AwaitsSync)
	defer progress.Done()
	if err := e.Start(ctx); err != nil {
		return explain.Cause(ctx, err)
	}
	e.Attachable("sandbox")
	path, err := e.Sandbox().WriteKubeconfig(o.kubeconfig)
	if err != nil {
		return err
	}
	if o.kubeconfig != "" {
		written, readErr := os.ReadFile(path)
		if readErr != nil {
			return fmt.Errorf("read the kubeconfig back: %w", readErr)
		}
		defer func() { err = errors.Join(err, RemoveKubeconfig(path, written, o.ErrOut)) }()
	}
	progress.Done()
	if len(args) > 0 {
		command := child.Command{
			Args: args, Env: append(os.Environ(), "KUBECONFIG="+path), Apart: !child.HasTerminal(),
			In: o.In, Out: render.Bare(o.Out), ErrOut: render.Bare(o.ErrOut),
		}
		return command.RunInForeground(ctx)
	}
	o.printUse(path, time.Since(begin))
	select {
	case <-e.Lost():
		return e.Err()
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
		return nil
	}
	return context.Cause(ctx)
}

// console.StopSignals leaves Ctrl-C to the command where there is one. It is caught and
// dropped rather than ignored: a command would inherit that.
func (o *sandboxCommandOptions) stopSignals(args []string) []os.Signal {
	if len(args) > 0 {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		return console.UnlessNohup([]os.Signal{syscall.SIGTERM, syscall.SIGHUP})
	}
	return console.StopSignals()
}

func (o *sandboxCommandOptions) printUse(path string, took time.Duration) {
	version := sandbox.LinkedVersion
	if o.sandbox.Version != "" {
		version += " as " + o.sandbox.Version
	}
	fmt.Fprintf(o.Out, `Kubernetes %s is up after %s. In another terminal:

  export KUBECONFIG=%s
  kubectl get nodes

Ctrl-C ends it and removes everything.
`, version, took.Round(100*time.Millisecond), path)
}

// spec is what is run.
func (o *sandboxCommandOptions) spec() (engine.Spec, error) {
	sandbox, err := o.sandbox.Spec()
	info := about.Version()
	return engine.Spec{
		Sandbox: sandbox, Mode: state.ModeActive, Controllers: o.controllers, Log: engineflags.LogOf(o.logs),
		Version: info.Version, Kubernetes: info.Kubernetes,
	}, err
}
