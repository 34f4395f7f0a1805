package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// clusterContext is one of the clusters that --context names.
type clusterContext struct {
	// name is empty where the flag names no list: there is one cluster then.
	name  string
	flags *genericclioptions.ConfigFlags
}

// contextsOf gives the clusters that --context names: one, or each of a list,
// "staging,production", with a set of flags of its own. A context whose name has
// a comma in it is taken as one.
func contextsOf(flags *genericclioptions.ConfigFlags) ([]clusterContext, error) {
	given := valueOf(flags.Context)
	if !strings.Contains(given, ",") {
		return []clusterContext{{flags: flags}}, nil
	}
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, connect.LoadError(err)
	}
	if raw.Contexts[given] != nil {
		return []clusterContext{{flags: flags}}, nil
	}
	var out []clusterContext
	for name := range strings.SplitSeq(given, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.ContainsFunc(out, func(c clusterContext) bool { return c.name == name }) {
			continue
		}
		if raw.Contexts[name] == nil {
			return nil, fmt.Errorf("no context %q in the kubeconfig: 'kubectl config get-contexts' lists them", name)
		}
		out = append(out, clusterContext{name: name, flags: withContext(flags, name)})
	}
	return out, nil
}

// oneContext gives the cluster that --context names. why says of several that they are
// too many.
func oneContext(flags *genericclioptions.ConfigFlags, why string) (clusterContext, error) {
	contexts, err := contextsOf(flags)
	if err != nil {
		return clusterContext{}, err
	}
	if len(contexts) > 1 {
		return clusterContext{}, errors.New(why + ": choose one with --context")
	}
	return contexts[0], nil
}

// withContext copies the flags, for another context.
func withContext(flags *genericclioptions.ConfigFlags, name string) *genericclioptions.ConfigFlags {
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

// namespaceOf is the namespace that the flags or the context name.
func namespaceOf(flags *genericclioptions.ConfigFlags) (string, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", connect.LoadError(err)
	}
	return namespace, nil
}

func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// suffix names the context where there are several.
func (c clusterContext) suffix() string {
	if c.name == "" {
		return ""
	}
	return " of context " + c.name
}
