package main

import (
	"fmt"
	"os"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// unprotected returns an error where the configuration protects the context, or
// another one of the kubeconfig that leads to the same API server. The files are
// read as they are now.
func (o *runOptions) unprotected(name string) error {
	config, err := loadConfig(os.Getenv)
	if err != nil {
		return err
	}
	loader := o.kubeconfig.ToRawKubeConfigLoader()
	target, err := connect.TargetOf(loader)
	if err != nil {
		return err
	}
	kubeconfig, err := loader.RawConfig()
	if err != nil {
		return connect.LoadError(err)
	}
	return config.allows(name, target, kubeconfig)
}

// allows is unprotected for a target.
func (c configFile) allows(name string, target connect.Target, kubeconfig clientcmdapi.Config) error {
	if pattern := c.protects(name); pattern != "" {
		return fmt.Errorf("context %q is protected (protectedContexts: %s in %s): use a dry run, or choose another with --context", name, pattern, c.path)
	}
	for _, other := range target.ContextsTo(kubeconfig) {
		if pattern := c.protects(other); pattern != "" {
			return fmt.Errorf("context %q leads to the API server of context %q, which is protected (protectedContexts: %s in %s): use a dry run, or choose another with --context", name, other, pattern, c.path)
		}
	}
	return nil
}
