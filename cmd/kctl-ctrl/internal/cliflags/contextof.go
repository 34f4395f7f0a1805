package cliflags

import (
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// ContextOf is the name of the context that a kubeconfig and the flags mean.
func ContextOf(loader clientcmd.ClientConfig, flag string) (string, error) {
	raw, err := loader.RawConfig()
	if err != nil {
		return "", connect.LoadError(err)
	}
	if flag != "" {
		return flag, nil
	}
	return raw.CurrentContext, nil
}
