package controllerflags

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/leaderelection"

	"strings"
)

// CheckElection checks the flags of the election by their names, before
// anything is asked. The bounds are client-go's and package election's.
func CheckElection(flags *pflag.FlagSet) error {
	const prefix = "leader-elect-"
	for _, name := range []string{"resource-name", "resource-namespace"} {
		if value, err := flags.GetString(prefix + name); err == nil && value == "" {
			return fmt.Errorf("--%s%s is empty, which names no lease: leave it out for kube-controller-manager's", prefix, name)
		}
	}
	durations := map[string]time.Duration{}
	for _, name := range []string{"lease-duration", "renew-deadline", "retry-period"} {
		d, err := flags.GetDuration(prefix + name)
		if err != nil {
			return nil // the command has no election
		}
		durations[name] = d
	}
	lease, deadline, retry := durations["lease-duration"], durations["renew-deadline"], durations["retry-period"]
	switch {
	case lease <= 0 || lease%time.Second != 0:
		return fmt.Errorf("--%slease-duration=%s: a lease is held for whole seconds, such as 15s", prefix, lease)
	case retry < time.Second:
		return fmt.Errorf("--%sretry-period=%s: other candidates see renewals by the second: give 1s or more", prefix, retry)
	case deadline <= time.Duration(leaderelection.JitterFactor*float64(retry)):
		return fmt.Errorf("--%srenew-deadline=%s must be longer than %g times --%sretry-period=%s", prefix, deadline, leaderelection.JitterFactor, prefix, retry)
	case lease <= deadline:
		return fmt.Errorf("--%slease-duration=%s must be longer than --%srenew-deadline=%s", prefix, lease, prefix, deadline)
	}
	return nil
}

// NeedsActive names a flag that was set and means nothing without --active.
func NeedsActive(flags *pflag.FlagSet) (set string) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Name == "confirm" || f.Name == "no-wait" || f.Name == "leader-elect" || strings.HasPrefix(f.Name, "leader-elect-") {
			set = f.Name
		}
	})
	return set
}
