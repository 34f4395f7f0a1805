package main

import (
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/metrics"
)

// outputFormats are the values of -o of the commands that have no printing.Printer.
var outputFormats = map[string][]string{
	"run": {"text", "json"}, "exec": {"text", "json"}, "replay": {"text", "json"}, "diff": {"text", "json", "yaml"},
	"info": {"json", "yaml"}, "version": {"json", "yaml"}, "rbac": {"yaml", "json"},
}

// sharedCompletions are those of flags that mean the same wherever they are.
func sharedCompletions() map[string]complete.Func {
	return map[string]complete.Func{
		"context":   complete.FromKubeconfig(func(c complete.KubeconfigNames) []string { return c.Contexts }, true),
		"confirm":   complete.FromKubeconfig(func(c complete.KubeconfigNames) []string { return c.Contexts }, false),
		"cluster":   complete.FromKubeconfig(func(c complete.KubeconfigNames) []string { return c.Clusters }, false),
		"user":      complete.FromKubeconfig(func(c complete.KubeconfigNames) []string { return c.Users }, false),
		"namespace": complete.Names(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, ""),

		"controllers":        controllerflags.Complete,
		"feature-gates":      controllerflags.CompleteFeatureGates,
		"dry-run":            complete.Values("client", "server"),
		"color":              complete.Values("auto", "always", "never"),
		"theme":              complete.Values(widget.Themes()...),
		"kubernetes-version": complete.Values(sandbox.Versions()...),
		"pods":               complete.Values(podStates()...),
		"log-level":          complete.Values(numbers(0, 7)...),
		"page":               complete.Values(numbers(1, 8)...),
		"api-groups":         complete.Groups,
		"check":              completeChecks,

		"leader-elect-resource-lock": complete.Values("leases"),
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
	return complete.ListOf(offered...)(cmd, args, word)
}

// addCompletions gives the flags that several commands share their completions, and -o
// that of its command.
func addCompletions(root *cobra.Command) {
	for flag, complete := range sharedCompletions() {
		addCompletion(root, flag, complete)
	}
	if formats, ok := outputFormats[root.Name()]; ok {
		addCompletion(root, "output", complete.Values(formats...))
	}
	for _, cmd := range root.Commands() {
		addCompletions(cmd)
	}
}

// addCompletion completes a flag that a command has, and has no completion of its own
// for.
func addCompletion(cmd *cobra.Command, flag string, complete complete.Func) {
	if _, has := cmd.GetFlagCompletionFunc(flag); !has && cmd.Flags().Lookup(flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete)
	}
}
