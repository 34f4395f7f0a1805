// Package cliflags has what several commands take on their command line: the cluster
// (kubectl's flags, a list of contexts, kuberc) with the config by which it is only read,
// manifests, the log's file; and refusals of words that are no arguments (OnlyCommands,
// NoArguments) and of flags that do nothing as a command is called (RefuseNoEffect).
// The flags of controllers are elsewhere: they link the controllers.
package cliflags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// Cluster is one of the clusters that --context names.
type Cluster struct {
	// Name is empty where the flag names no list: there is one cluster then.
	Name  string
	Flags *genericclioptions.ConfigFlags
}

// Clusters gives the clusters that --context names: one, or each of a list,
// "staging,production", with a set of flags of its own. A context whose name has
// a comma in it is taken as one.
func Clusters(flags *genericclioptions.ConfigFlags) ([]Cluster, error) {
	given := ValueOf(flags.Context)
	if !strings.Contains(given, ",") {
		return []Cluster{{Flags: flags}}, nil
	}
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, connect.LoadError(err)
	}
	if raw.Contexts[given] != nil {
		return []Cluster{{Flags: flags}}, nil
	}
	var out []Cluster
	for name := range strings.SplitSeq(given, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.ContainsFunc(out, func(c Cluster) bool { return c.Name == name }) {
			continue
		}
		if raw.Contexts[name] == nil {
			return nil, fmt.Errorf("no context %q in the kubeconfig: 'kubectl config get-contexts' lists them", name)
		}
		out = append(out, Cluster{Name: name, Flags: WithContext(flags, name)})
	}
	return out, nil
}

// OneCluster gives the cluster that --context names. why says of several that they are
// too many.
func OneCluster(flags *genericclioptions.ConfigFlags, why string) (Cluster, error) {
	contexts, err := Clusters(flags)
	if err != nil {
		return Cluster{}, err
	}
	if len(contexts) > 1 {
		return Cluster{}, errors.New(why + ": choose one with --context")
	}
	return contexts[0], nil
}

// WithContext copies the flags, for another context.
func WithContext(flags *genericclioptions.ConfigFlags, name string) *genericclioptions.ConfigFlags {
	out := genericclioptions.NewConfigFlags(true)
	out.CacheDir, out.KubeConfig = flags.CacheDir, flags.KubeConfig
	out.ClusterName, out.AuthInfoName, out.Namespace = flags.ClusterName, flags.AuthInfoName, flags.Namespace
	out.APIServer, out.TLSServerName, out.Insecure, out.CAFile = flags.APIServer, flags.TLSServerName, flags.Insecure, flags.CAFile
	out.CertFile, out.KeyFile, out.BearerToken, out.Username, out.Password = flags.CertFile, flags.KeyFile, flags.BearerToken, flags.Username, flags.Password
	out.Impersonate, out.ImpersonateUID, out.ImpersonateGroup, out.ImpersonateUserExtra = flags.Impersonate, flags.ImpersonateUID, flags.ImpersonateGroup, flags.ImpersonateUserExtra
	out.Timeout, out.DisableCompression = flags.Timeout, flags.DisableCompression
	out.Context = &name
	return out
}

// NamespaceOf is the namespace that the flags or the context name.
func NamespaceOf(flags *genericclioptions.ConfigFlags) (string, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", connect.LoadError(err)
	}
	return namespace, nil
}

// ValueOf is what a flag of kubectl points to, if it does.
func ValueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Suffix names the context where there are several.
func (c Cluster) Suffix() string {
	if c.Name == "" {
		return ""
	}
	return " of context " + c.Name
}
