// Package complete offers what a shell completes: values of flags (Values, ListOf), names
// of a kubeconfig (FromKubeconfig), and what a cluster serves and has (Names, Groups,
// Objects). A cluster is asked for metadata, briefly; where it does not answer, nothing is
// offered.
package complete

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/metadata"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
)

const (
	// Timeout bounds what a cluster is asked for while the user waits at
	// a prompt.
	Timeout = 3 * time.Second
	// completeLimit bounds the names offered.
	completeLimit = 500
)

// Func is the signature of cobra's completions.
type Func = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// KubeconfigNames are what a kubeconfig names.
type KubeconfigNames struct{ Contexts, Clusters, Users []string }

// FromKubeconfig completes names of the kubeconfig, one or a list.
func FromKubeconfig(choose func(KubeconfigNames) []string, list bool) Func {
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		raw, err := ConfigFlagsOf(cmd).ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found KubeconfigNames
		for name := range raw.Contexts {
			found.Contexts = append(found.Contexts, name)
		}
		for name := range raw.Clusters {
			found.Clusters = append(found.Clusters, name)
		}
		for name := range raw.AuthInfos {
			found.Users = append(found.Users, name)
		}
		offered := choose(found)
		slices.Sort(offered)
		if list {
			offered = ContinueList(word, offered)
		}
		return StartingWith(word, offered), cobra.ShellCompDirectiveNoFileComp
	}
}

// ContinueList offers words after those of an unfinished list: "a," gives "a,b",
// and never a word that it has.
func ContinueList(word string, offered []string) []string {
	at := strings.LastIndexByte(word, ',')
	if at < 0 {
		return offered
	}
	before := strings.Split(word[:at], ",")
	var out []string
	for _, name := range offered {
		if !slices.Contains(before, name) {
			out = append(out, word[:at+1]+name)
		}
	}
	return out
}

// StartingWith keeps of what is offered what continues a word.
func StartingWith(word string, offered []string) []string {
	return slices.DeleteFunc(slices.Clone(offered), func(name string) bool { return !strings.HasPrefix(name, word) })
}

// Names completes the names of a type's objects, each behind a prefix
// such as "deployment/". The cluster is asked for metadata only, for a page, and
// briefly; where that fails, nothing is offered.
func Names(resource schema.GroupVersionResource, prefix string) Func {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp
		flags := ConfigFlagsOf(cmd)
		namespace := ""
		if resource.Resource != "namespaces" && !isSet(cmd.Flags(), "all-namespaces") {
			var err error
			if namespace, err = cliflags.NamespaceOf(flags); err != nil {
				return nil, directive
			}
		}
		config, err := cliflags.ReadOnlyConfig(flags)
		if err != nil {
			return nil, directive
		}
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), Timeout)
		defer cancel()
		list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: completeLimit})
		if err != nil {
			return nil, directive
		}
		var offered []string
		for _, item := range list.Items {
			if name := prefix + item.Name; !slices.Contains(args, name) {
				offered = append(offered, name)
			}
		}
		return StartingWith(word, offered), directive
	}
}

// ConfigFlagsOf reads the flags that name a cluster from a command's own.
func ConfigFlagsOf(cmd *cobra.Command) *genericclioptions.ConfigFlags {
	out := genericclioptions.NewConfigFlags(true)
	into := pflag.NewFlagSet("", pflag.ContinueOnError)
	out.AddFlags(into)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if into.Lookup(f.Name) == nil {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				_ = into.Set(f.Name, v)
			}
			return
		}
		value := f.Value.String()
		if f.Name == "context" {
			value, _, _ = strings.Cut(value, ",") // of several clusters, the first is asked
		}
		_ = into.Set(f.Name, value)
	})
	return out
}

func isSet(flags *pflag.FlagSet, name string) bool {
	set, err := flags.GetBool(name)
	return err == nil && set
}
