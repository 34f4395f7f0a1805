package engineflags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// Election are those of active mode on a cluster, beside upstream's
// --leader-elect-*.
type Election struct {
	confirm string
	noWait  bool
}

// AddTo registers the flags.
func (f *Election) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.confirm, "confirm", "", "with --active: the `CONTEXT` that is to be written to")
	flags.BoolVar(&f.noWait, "no-wait", false, "with --active: end if another holds the lease, instead of standing by; one that has expired is still waited for, as long as its duration")
}

// Elects reports whether writing for real on a target takes an election: not on a
// sandbox of this user, unless it is asked for there.
func Elects(flags *pflag.FlagSet, target connect.Target) bool {
	asked, err := flags.GetBool("leader-elect")
	return !sandbox.Recognise(target.CA) || err == nil && asked && flags.Changed("leader-elect")
}

// errNoneChosen is the refusal of active mode where nobody has said which loops
// write.
var errNoneChosen = errors.New("the loops that are to write are not named")

// Refuse says why loops must not write to a context, whatever its cluster says and
// whatever the user confirms. It asks nobody.
func (o *Options) Refuse(name string, chosen bool) error {
	if err := o.unprotected(name); err != nil {
		return err
	}
	// What is confirmed and protected is a context: it has to be the context that says
	// where the writes go.
	for _, elsewhere := range []string{"server", "cluster"} {
		if o.Set.Changed(elsewhere) {
			return fmt.Errorf("--%s leads elsewhere than context %q says, which is what is confirmed: leave it out, or choose another context with --context", elsewhere, name)
		}
	}
	switch elect, err := o.Set.GetBool("leader-elect"); {
	case err == nil && !elect:
		return fmt.Errorf("--leader-elect=false on a cluster would set %s beside the cluster's own: leave it out, or use --sandbox", o.whatRuns())
	case !chosen:
		return errNoneChosen
	}
	return nil
}
