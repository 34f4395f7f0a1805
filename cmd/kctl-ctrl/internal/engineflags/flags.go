package engineflags

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

// Options are run's flags.
type Options struct {
	genericiooptions.IOStreams
	Kubeconfig  *genericclioptions.ConfigFlags
	Controllers *controllers.Options
	Manifests   cliflags.Manifests
	Sandbox     Sandbox
	Journal     journal.Flags
	Recording   Recording
	Logs        cliflags.Logs
	Approval    Approvals
	// Set are the command's, to see which were set.
	Set *pflag.FlagSet

	Sandboxed     bool
	DryRun        string
	Active        bool
	Elected       Election
	Impersonate   bool
	Scheduler     bool
	UntilSettled  bool
	Horizon       time.Duration
	Timeout       time.Duration
	Duration      time.Duration
	HealthAddress string
	// Stood is when it began to stand for election, if it did.
	Stood time.Time
}

// AddTo registers the flags that say what runs, where, and until when.
func (o *Options) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.Set = flags
	flags.BoolVar(&o.Sandboxed, "sandbox", false, "run on an embedded control plane instead of the current context")
	flags.StringVar(&o.DryRun, "dry-run", "", "client: writes are answered in this program (the default on a cluster); server: they are sent with dryRun=All")
	flags.BoolVar(&o.Active, "active", false, "write for real: on a sandbox (the default with --sandbox), or on a cluster while holding the lease of kube-controller-manager, or of kube-scheduler; see --confirm")
	o.Elected.AddTo(flags)
	controllerflags.AddImpersonate(flags, &o.Impersonate)
	flags.BoolVar(&o.UntilSettled, "until-settled", false, "exit once all queues are idle; list delayed keys")
	flags.DurationVar(&o.Horizon, "horizon", 3*time.Second, "with --until-settled: wait for keys due within this duration")
	flags.DurationVar(&o.Timeout, "timeout", SettleTimeout, "with --until-settled: exit with 3 after this duration, listing what is still in progress; waiting for the lease counts; 0 waits forever, in a sandbox only")
	flags.DurationVar(&o.Duration, "for", 0, "end after this long; with --active on a cluster that counts from the start, standing by included, and not to be elected by then is an error")
	flags.StringVar(&o.HealthAddress, "health-address", "", "serve /healthz, /healthz/LOOP and /metrics on this loopback address; while standing by for election there is no loop to check")
	o.Manifests.AddTo(flags, "apply these manifests to the sandbox first")
	o.Sandbox.AddTo(flags)
	o.Logs.AddTo(flags)
	controllerflags.Add(cmd, &o.Controllers)
	controllerflags.AddUntapped(cmd, o.Controllers)
	if o.Controllers != nil {
		o.Controllers.AddElectionFlags(flags)
	}
	cliflags.AddCluster(o.Kubeconfig, flags)
}

// Mode is what the flags ask for. Contradictions are errors that name the flags.
func (o *Options) Mode() (state.Mode, error) { return ModeOf(o.Active, o.DryRun, o.Sandboxed) }

// ModeOf is the mode that --active, --dry-run and --sandbox ask for.
func ModeOf(active bool, dryRun string, sandboxed bool) (state.Mode, error) {
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

// SandboxFlag names a flag that was set and means nothing without a sandbox.
func (o *Options) SandboxFlag() string {
	described := pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	(&Sandbox{}).AddTo(described)
	return ChangedOf(o.Set, described, "kubernetes-version")
}

// ChangedOf names a flag of described that was set among flags, or none.
func ChangedOf(flags, described *pflag.FlagSet, except ...string) string {
	set := ""
	described.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) && flags.Changed(f.Name) {
			set = f.Name
		}
	})
	return set
}

// SettleTimeout is how long a wait for the controllers to settle lasts at most, where
// nothing else is asked for.
const SettleTimeout = 5 * time.Minute

// OwnControlPlane is why the flags of a cluster have no effect with --sandbox.
const OwnControlPlane = "with --sandbox, which starts a control plane of its own: leave one of them out"
