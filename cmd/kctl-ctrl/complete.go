package main

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
)

const (
	// completeTimeout bounds what a cluster is asked for while the user waits at
	// a prompt.
	completeTimeout = 3 * time.Second
	// completeLimit bounds the names offered.
	completeLimit = 500
)

// completion is the signature of cobra's completions.
type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// kubeconfigNames are what a kubeconfig names.
type kubeconfigNames struct{ contexts, clusters, users []string }

func completeFromKubeconfig(choose func(kubeconfigNames) []string, list bool) completion {
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		raw, err := configFlagsOf(cmd).ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found kubeconfigNames
		for name := range raw.Contexts {
			found.contexts = append(found.contexts, name)
		}
		for name := range raw.Clusters {
			found.clusters = append(found.clusters, name)
		}
		for name := range raw.AuthInfos {
			found.users = append(found.users, name)
		}
		offered := choose(found)
		slices.Sort(offered)
		if list {
			offered = continueList(word, offered)
		}
		return startingWith(word, offered), cobra.ShellCompDirectiveNoFileComp
	}
}

// continueList offers words after those of an unfinished list: "a," gives "a,b",
// and never a word that it has.
func continueList(word string, offered []string) []string {
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

func startingWith(word string, offered []string) []string {
	return slices.DeleteFunc(slices.Clone(offered), func(name string) bool { return !strings.HasPrefix(name, word) })
}

// completeObjects completes the names of a type's objects, each behind a prefix
// such as "deployment/". The cluster is asked for metadata only, for a page, and
// briefly; where that fails, nothing is offered.
func completeObjects(resource schema.GroupVersionResource, prefix string) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp
		flags := configFlagsOf(cmd)
		namespace := ""
		if resource.Resource != "namespaces" && !isSet(cmd.Flags(), "all-namespaces") {
			var err error
			if namespace, err = namespaceOf(flags); err != nil {
				return nil, directive
			}
		}
		config, err := readOnlyConfig(flags)
		if err != nil {
			return nil, directive
		}
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
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
		return startingWith(word, offered), directive
	}
}

// configFlagsOf reads the flags that name a cluster from a command's own.
func configFlagsOf(cmd *cobra.Command) *genericclioptions.ConfigFlags {
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
