package main

import (
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
)

// values completes a flag that takes one of these.
func values(of ...string) completion {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return startingWith(word, of), cobra.ShellCompDirectiveNoFileComp
	}
}

// listOf completes a flag that takes a list of these.
func listOf(of ...string) completion {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return startingWith(word, continueList(word, of)), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeGroups completes a list of API groups that the cluster serves.
func completeGroups(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	offered := []string{"core"}
	if client := discoveryFor(cmd); client != nil {
		if list, err := client.ServerGroups(); err == nil {
			for _, group := range list.Groups {
				if group.Name != "" {
					offered = append(offered, group.Name)
				}
			}
		}
	}
	slices.Sort(offered)
	return listOf(offered...)(cmd, args, word)
}

// discoveryFor is a client that asks the cluster of a command what it serves, briefly;
// nil where no cluster is configured.
func discoveryFor(cmd *cobra.Command) discovery.DiscoveryInterface {
	return discoveryBy(configFlagsOf(cmd))
}

func discoveryBy(flags *genericclioptions.ConfigFlags) discovery.DiscoveryInterface {
	config, err := readOnlyConfig(flags)
	if err != nil {
		return nil
	}
	config.Timeout = completeTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil
	}
	return client
}
