// Package dryrun runs controllers dry for commands that look into them (look.Controllers).
package dryrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/look"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Controllers start controllers in this process for a look, dry.
type Controllers struct {
	options *controllers.Options
}

var _ look.Controllers = (*Controllers)(nil)

// AddFlags implements look.Controllers. Where upstream's defaults cannot be read, Start says so.
func (d *Controllers) AddFlags(flags *pflag.FlagSet) {
	options, err := controllers.NewOptions()
	if err != nil {
		return
	}
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(all)
	selected := all.Lookup("controllers")
	selected.Usage = "the loops to run where some have to be started: names, * and -NAME; 'get controllers' lists them"
	flags.AddFlag(selected)
	d.options = options
}

// Start implements look.Controllers.
func (d *Controllers) Start(ctx context.Context, streams genericiooptions.IOStreams, in cliflags.Cluster, during time.Duration) (look.Started, error) {
	if d.options == nil {
		return look.Started{}, errors.New("kube-controller-manager's defaults cannot be read")
	}
	// Also where the cluster cannot be reached: it says what was tried.
	fmt.Fprintf(streams.ErrOut, "no kctl-ctrl runs loops on this cluster%s: running them dry for %s\n", in.Suffix(), during)
	run := &engineflags.Options{IOStreams: streams, Kubeconfig: in.Flags, Controllers: d.options}
	spec, err := run.Spec(state.ModeDryRunClient, engine.Approvals{})
	if err != nil {
		return look.Started{}, err
	}
	var progress *console.Progress // made when there is something to wait for
	spec.Progress = func(text string) { progress.Line(text) }
	e, err := engine.New(spec)
	if err != nil {
		return look.Started{}, err
	}
	closing := func() { engineflags.ShutDown(e, streams.ErrOut) }
	progress = console.NewProgress(streams.ErrOut)
	defer progress.Done()
	if err := e.Start(ctx); err != nil {
		closing()
		return look.Started{}, explain.Cause(ctx, err)
	}
	missing := 0
	if off := engine.Forbidden(e.Manager().Statuses()); len(off) > 0 {
		missing = len(off)
		progress.Done()
		fmt.Fprintf(streams.ErrOut, "warning: missing here are %d loops that cannot run: %s\n", len(off), state.Few(off, ", "))
	}
	host := engine.NewHost(e, "this process")
	e.OnStop(func(context.Context) error {
		host.Close()
		return nil
	})
	progress.Line("letting the loops run for " + during.String())
	timer := time.NewTimer(during)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		closing()
		return look.Started{}, context.Cause(ctx)
	}
	unsynced := e.WaitSynced(ctx, engineflags.SyncWithin, progress.Line)
	if ctx.Err() != nil {
		closing()
		return look.Started{}, context.Cause(ctx)
	}
	if len(unsynced) > 0 {
		progress.Done()
		engineflags.WarnUnsynced(streams.ErrOut, unsynced)
	}
	return look.Started{Host: host, End: closing, Missing: missing, Unsynced: unsynced}, nil
}
