package main

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/metrics"
)

// outputFormats are the values of -o of the commands that have no outputPrinter.
var outputFormats = map[string][]string{
	"run": {"text", "json"}, "exec": {"text", "json"}, "replay": {"text", "json"}, "diff": {"text", "json", "yaml"},
	"info": {"json", "yaml"}, "version": {"json", "yaml"}, "rbac": {"yaml", "json"},
}

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

// sharedCompletions are those of flags that mean the same wherever they are.
func sharedCompletions() map[string]completion {
	return map[string]completion{
		"context":   completeFromKubeconfig(func(c kubeconfigNames) []string { return c.contexts }, true),
		"confirm":   completeFromKubeconfig(func(c kubeconfigNames) []string { return c.contexts }, false),
		"cluster":   completeFromKubeconfig(func(c kubeconfigNames) []string { return c.clusters }, false),
		"user":      completeFromKubeconfig(func(c kubeconfigNames) []string { return c.users }, false),
		"namespace": completeObjects(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, ""),

		"controllers":        completeControllers,
		"feature-gates":      completeFeatureGates,
		"dry-run":            values("client", "server"),
		"color":              values("auto", "always", "never"),
		"theme":              values(widget.Themes()...),
		"kubernetes-version": values(sandbox.Versions()...),
		"pods":               values(podStates()...),
		"log-level":          values(numbers(0, 7)...),
		"page":               values(numbers(1, 8)...),
		"api-groups":         completeGroups,
		"check":              completeChecks,

		"leader-elect-resource-lock": values("leases"),
	}
}

func podStates() []string {
	return []string{string(nodes.PodsReady), string(nodes.PodsPending), string(nodes.PodsFailing)}
}

func numbers(from, to int) []string {
	var out []string
	for n := from; n <= to; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// completeChecks completes the figures of --check, with the bound left to write.
func completeChecks(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	var offered []string
	for _, name := range metrics.Checkable() {
		offered = append(offered, name+"=")
	}
	return listOf(offered...)(cmd, args, word)
}

// completeFeatureGates completes the gates of the loops and the sandbox.
func completeFeatureGates(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	var offered []string
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		offered = append(offered, string(name)+"=true", string(name)+"=false")
	}
	slices.Sort(offered)
	return listOf(offered...)(cmd, args, word)
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
