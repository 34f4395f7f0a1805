package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// RemoveKubeconfig removes the kubeconfig that was written where the user wanted it.
// One that has more in it by now than ways to the sandbox is left, with a word.
func RemoveKubeconfig(path string, written []byte, stderr io.Writer) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var now []byte
	if err == nil && info.Mode().IsRegular() {
		now, err = os.ReadFile(path)
	}
	if err != nil || !onlyLeadsTo(now, written) {
		fmt.Fprintf(stderr, "the kubeconfig %s is left: somebody has changed it, and there is more in it than this sandbox, which is gone\n", render.Sanitise(path))
		return nil
	}
	return os.Remove(path)
}

// onlyLeadsTo reports whether nothing is lost with a kubeconfig when the cluster of the
// one that this program wrote is gone: it is the same, or kubectl has written it anew
// (kubectl config set-context) and it knows no other cluster and no other user. What
// kubectl would not write, such as a comment, is somebody's.
func onlyLeadsTo(now, written []byte) bool {
	if bytes.Equal(now, written) {
		return true
	}
	config, err := clientcmd.Load(now)
	if err != nil {
		return false
	}
	ours, err := clientcmd.Load(written)
	if err != nil {
		return false
	}
	if canonical, err := clientcmd.Write(*config); err != nil || !bytes.Equal(canonical, now) || len(config.Extensions) > 0 {
		return false
	}
	for name, cluster := range config.Clusters {
		if !apiequality.Semantic.DeepEqual(cluster, ours.Clusters[name]) {
			return false
		}
	}
	for name, user := range config.AuthInfos {
		if !apiequality.Semantic.DeepEqual(user, ours.AuthInfos[name]) {
			return false
		}
	}
	for _, context := range config.Contexts {
		if !leadsTo(context, ours) {
			return false
		}
	}
	return true
}

func leadsTo(context *clientcmdapi.Context, ours *clientcmdapi.Config) bool {
	_, cluster := ours.Clusters[context.Cluster]
	_, user := ours.AuthInfos[context.AuthInfo]
	return cluster && user && len(context.Extensions) == 0
}
