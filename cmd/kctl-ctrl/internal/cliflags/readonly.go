package cliflags

import (
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Limits of the verbs that ask a cluster: a request budget of their own, as
// kubectl has one, and not the loops'.
const (
	ReadQPS   = 50
	ReadBurst = 100
)

// ReadOnlyConfig makes the config of a verb that only asks: every write through
// it is refused in this process.
func ReadOnlyConfig(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	target, err := connect.TargetOf(flags.ToRawKubeConfigLoader())
	if err != nil {
		return nil, err
	}
	g, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: target.Server(), BasePath: target.Path()})
	if err != nil {
		return nil, err
	}
	config, err := target.Config(g.Wrap, connect.Limits{QPS: ReadQPS, Burst: ReadBurst})
	if err != nil {
		return nil, err
	}
	// The versions that are asked for are this program's choice: a warning that
	// one is deprecated is nothing the user could act on.
	config.WarningHandler = rest.NoWarnings{}
	return connect.ForQuestions(config), nil
}
