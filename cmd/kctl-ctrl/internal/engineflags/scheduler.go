package engineflags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
)

// AddScheduler registers the flag that has kube-scheduler run in place of loops.
func (o *Options) AddScheduler(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Scheduler, "scheduler", false, "run kube-scheduler instead of loops; with --active, while holding its lease")
}

// CheckScheduler names what means nothing beside --scheduler.
func (o *Options) CheckScheduler() error {
	switch {
	case !o.Scheduler:
		return nil
	case o.Sandboxed:
		return errors.New("--scheduler is about a cluster, and a sandbox has a kube-scheduler of its own: leave one of --scheduler and --sandbox out")
	case o.Set.Changed("controllers"):
		return errors.New("--scheduler and --controllers exclude each other, as kube-scheduler and kube-controller-manager have a lease each: run two processes")
	case o.Impersonate:
		return errors.New("--impersonate-controllers is about loops, and kube-scheduler has no account of theirs: leave it out")
	case o.Set.Changed("untapped"):
		return errors.New("--untapped is about controllers, and --scheduler runs none: leave one of them out")
	case *o.Kubeconfig.Namespace != "":
		return errors.New("--namespace with --scheduler: kube-scheduler places pods by what runs on the whole cluster: leave it out")
	}
	loops, err := controllers.NewOptions()
	if err != nil {
		return err
	}
	described := pflag.NewFlagSet("loops", pflag.ContinueOnError)
	loops.AddFlags(described)
	if set := ChangedOf(o.Set, described, "feature-gates", "kube-api-qps", "kube-api-burst", "kube-api-content-type"); set != "" {
		return fmt.Errorf("--%s is about loops, and --scheduler runs none: leave one of them out", set)
	}
	return nil
}

// whatRuns is what is started, in a sentence.
func (o *Options) whatRuns() string {
	if o.Scheduler {
		return scheduler.Name
	}
	return "the loops"
}
