package engineflags

import (
	"os"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/userconfig"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// unprotected returns an error where the configuration protects the context, or
// another one of the kubeconfig that leads to the same API server. The files are
// read as they are now.
func (o *Options) unprotected(name string) error {
	config, err := userconfig.Load(os.Getenv)
	if err != nil {
		return err
	}
	loader := o.Kubeconfig.ToRawKubeConfigLoader()
	target, err := connect.TargetOf(loader)
	if err != nil {
		return err
	}
	kubeconfig, err := loader.RawConfig()
	if err != nil {
		return connect.LoadError(err)
	}
	return config.Allows(name, target, kubeconfig)
}
