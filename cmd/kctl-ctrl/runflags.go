package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/journal"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// runOptions are run's flags.
type runOptions struct {
	genericiooptions.IOStreams
	kubeconfig  *genericclioptions.ConfigFlags
	controllers *controllers.Options
	manifests   cliflags.Manifests
	sandbox     sandboxFlags
	journal     journal.Flags
	recording   recordFlags
	logs        cliflags.Logs
	approval    approvalFlags
	// flags are the command's, to see which were set.
	flags *pflag.FlagSet

	sandboxed     bool
	dryRun        string
	active        bool
	elected       electedFlags
	impersonate   bool
	scheduler     bool
	untilSettled  bool
	horizon       time.Duration
	timeout       time.Duration
	duration      time.Duration
	healthAddress string
	// stood is when it began to stand for election, if it did.
	stood time.Time
}

// AddTo registers the flags that say what runs, where, and until when.
func (o *runOptions) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.flags = flags
	flags.BoolVar(&o.sandboxed, "sandbox", false, "run on an embedded control plane instead of the current context")
	flags.StringVar(&o.dryRun, "dry-run", "", "client: writes are answered in this program (the default on a cluster); server: they are sent with dryRun=All")
	flags.BoolVar(&o.active, "active", false, "write for real: on a sandbox (the default with --sandbox), or on a cluster while holding the lease of kube-controller-manager, or of kube-scheduler; see --confirm")
	o.elected.addTo(flags)
	controllerflags.AddImpersonate(flags, &o.impersonate)
	flags.BoolVar(&o.untilSettled, "until-settled", false, "exit once all queues are idle; list delayed keys")
	flags.DurationVar(&o.horizon, "horizon", 3*time.Second, "with --until-settled: wait for keys due within this duration")
	flags.DurationVar(&o.timeout, "timeout", settleTimeout, "with --until-settled: exit with 3 after this duration, listing what is still in progress; waiting for the lease counts; 0 waits forever, in a sandbox only")
	flags.DurationVar(&o.duration, "for", 0, "end after this long; with --active on a cluster that counts from the start, standing by included, and not to be elected by then is an error")
	flags.StringVar(&o.healthAddress, "health-address", "", "serve /healthz, /healthz/LOOP and /metrics on this loopback address; while standing by for election there is no loop to check")
	o.manifests.AddTo(flags, "apply these manifests to the sandbox first")
	o.sandbox.addTo(flags)
	o.logs.AddTo(flags)
	controllerflags.Add(cmd, &o.controllers)
	controllerflags.AddUntapped(cmd, o.controllers)
	if o.controllers != nil {
		o.controllers.AddElectionFlags(flags)
	}
	cliflags.AddCluster(o.kubeconfig, flags)
}

// mode is what the flags ask for. Contradictions are errors that name the flags.
func (o *runOptions) mode() (state.Mode, error) { return modeOf(o.active, o.dryRun, o.sandboxed) }

func modeOf(active bool, dryRun string, sandboxed bool) (state.Mode, error) {
	switch {
	case active && dryRun != "":
		return "", errors.New("--active and --dry-run exclude each other")
	case dryRun == "client":
		return state.ModeDryRunClient, nil
	case dryRun == "server":
		return state.ModeDryRunServer, nil
	case dryRun != "":
		return "", fmt.Errorf("unknown --dry-run %q: use client or server", dryRun)
	case active || sandboxed:
		return state.ModeActive, nil
	default:
		return state.ModeDryRunClient, nil
	}
}

// sandboxFlag names a flag that was set and means nothing without a sandbox.
func (o *runOptions) sandboxFlag() string {
	described := pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	(&sandboxFlags{}).addTo(described)
	return changedOf(o.flags, described, "kubernetes-version")
}

// changedOf names a flag of described that was set among flags, or none.
func changedOf(flags, described *pflag.FlagSet, except ...string) string {
	set := ""
	described.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) && flags.Changed(f.Name) {
			set = f.Name
		}
	})
	return set
}

// settleTimeout is how long a wait for the controllers to settle lasts at most, where
// nothing else is asked for.
const settleTimeout = 5 * time.Minute

const ownControlPlane = "with --sandbox, which starts a control plane of its own: leave one of them out"
