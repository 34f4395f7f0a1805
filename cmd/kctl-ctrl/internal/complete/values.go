package complete

import (
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
)

// Values completes a flag that takes one of these.
func Values(of ...string) Func {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return StartingWith(word, of), cobra.ShellCompDirectiveNoFileComp
	}
}

// ListOf completes a flag that takes a list of these.
func ListOf(of ...string) Func {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return StartingWith(word, ContinueList(word, of)), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// Groups completes a list of API groups that the cluster serves.
func Groups(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
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
	return ListOf(offered...)(cmd, args, word)
}

// discoveryFor is a client that asks the cluster of a command what it serves, briefly;
// nil where no cluster is configured.
func discoveryFor(cmd *cobra.Command) discovery.DiscoveryInterface {
	return discoveryBy(ConfigFlagsOf(cmd))
}

func discoveryBy(flags *genericclioptions.ConfigFlags) discovery.DiscoveryInterface {
	config, err := cliflags.ReadOnlyConfig(flags)
	if err != nil {
		return nil
	}
	config.Timeout = Timeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil
	}
	return client
}
