package main

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

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

type sandboxCommandOptions struct {
	genericiooptions.IOStreams
	controllers *controllers.Options
	flags       *pflag.FlagSet
	sandbox     sandboxFlags
	logs        cliflags.Logs
	kubeconfig  string
}

func newSandboxCommand(streams genericiooptions.IOStreams) *cobra.Command {
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
	o.sandbox.addTo(flags)
	addAuditFile(flags)
	o.logs.AddTo(flags)
	controllerflags.Add(cmd, &o.controllers)
	controllerflags.AddUntapped(cmd, o.controllers)
	return cmd
}

func (o *sandboxCommandOptions) run(ctx context.Context, args []string) (err error) {
	if err := cliflags.RefuseNoEffect(o.flags, o.sandbox.noNodes(true), o.sandbox.noAuditFile()); err != nil {
		return err
	}
	if o.kubeconfig != "" { // before anything starts
		if err := sandbox.CheckKubeconfig(o.kubeconfig); err != nil {
			return err
		}
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopping the sandbox", o.stopSignals(args)...)
	defer cancel()
	s, err := newSession(sessionOptions{logFile: o.logs.File, logVerbosity: o.logs.Verbosity})
	if err != nil {
		return err
	}
	defer s.shutDown(o.ErrOut)

	begin := time.Now()
	progress := console.NewProgress(o.ErrOut)
	progress.Await(s.awaitsSync)
	defer progress.Done()
	if err := s.startSandbox(ctx, o.sandbox, o.controllers, "", state.ModeActive, progress.Line); err != nil {
		return explain.Cause(ctx, err)
	}
	s.attachable("sandbox")
	path, err := s.sandbox.WriteKubeconfig(o.kubeconfig)
	if err != nil {
		return err
	}
	if o.kubeconfig != "" {
		written, readErr := os.ReadFile(path)
		if readErr != nil {
			return fmt.Errorf("read the kubeconfig back: %w", readErr)
		}
		defer func() { err = errors.Join(err, removeKubeconfig(path, written, o.ErrOut)) }()
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
	case <-s.crashed():
		return s.crash()
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
	if o.sandbox.version != "" {
		version += " as " + o.sandbox.version
	}
	fmt.Fprintf(o.Out, `Kubernetes %s is up after %s. In another terminal:

  export KUBECONFIG=%s
  kubectl get nodes

Ctrl-C ends it and removes everything.
`, version, took.Round(100*time.Millisecond), path)
}

// crashed is closed when the sandbox's child ends unasked; without a sandbox it
// never is.
func (s *session) crashed() <-chan struct{} {
	if s.sandbox == nil {
		return nil
	}
	return s.sandbox.Exited()
}

func (s *session) crash() error {
	if err := s.sandbox.Err(); err != nil {
		return fmt.Errorf("the sandbox's control plane ended: %w", err)
	}
	return errors.New("the sandbox's control plane ended")
}

// apply puts manifests into the sandbox.
func (s *session) apply(ctx context.Context, objects []plan.Object, namespace string) error {
	cluster, err := plan.NewCluster(s.world)
	if err != nil {
		return err
	}
	options := s.applyOptions
	options.Namespace = namespace
	applied, err := cluster.Apply(ctx, objects, options)
	if err != nil {
		return fmt.Errorf("apply the manifests:\n%w", err)
	}
	for _, warning := range applied.Warnings {
		s.hub.Record(state.Note{Source: "apply", Text: warning, Warning: true})
	}
	for _, result := range applied.Results {
		if result.Note != "" {
			s.note("apply", "%s", result.Note)
		}
	}
	return nil
}
