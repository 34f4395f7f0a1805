package controllerflags

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/render"

	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
)

// CompleteQueues completes queues and the controllers that have them.
func CompleteQueues(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	infos, err := controllers.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, info := range infos {
		if len(info.Queues) > 0 {
			offered = append(append(offered, info.Queues...), info.Name, render.ShortName(info.Name))
		}
	}
	slices.Sort(offered)
	offered = slices.DeleteFunc(slices.Compact(offered), func(name string) bool { return slices.Contains(args, name) })
	return complete.StartingWith(word, offered), cobra.ShellCompDirectiveNoFileComp
}

// CompleteCachedObject completes a type that some controller has an informer of, and
// then the name of an object.
func CompleteCachedObject(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.Contains(word, "/") {
		return CompleteInformerTypes(cmd, args, word)
	}
	return complete.Objects{Usual: complete.TypesThatOwn()}.Complete(cmd, args, word)
}

// CompleteSeveralTypes completes types that some controller has an informer of.
func CompleteSeveralTypes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	offered, directive := CompleteInformerTypes(cmd, nil, word)
	return slices.DeleteFunc(offered, func(name string) bool { return slices.Contains(args, name) }), directive
}

// CompleteInformerTypes completes a type that some loop has an informer of.
func CompleteInformerTypes(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	infos, err := controllers.List()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var types []string
	for _, info := range infos {
		types = append(types, info.Informers...)
	}
	slices.Sort(types)
	return complete.StartingWith(word, slices.DeleteFunc(slices.Compact(types), func(t string) bool { return t == "*" })), cobra.ShellCompDirectiveNoFileComp
}

// Complete completes a list of control loops, with "-" before those
// to leave out.
func Complete(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	infos, err := controllers.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, info := range infos {
		offered = append(offered, info.Name, "-"+info.Name)
	}
	return complete.StartingWith(word, complete.ContinueList(word, offered)), cobra.ShellCompDirectiveNoFileComp
}

// CompleteFeatureGates completes the gates of the loops and the sandbox.
func CompleteFeatureGates(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	var offered []string
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		offered = append(offered, string(name)+"=true", string(name)+"=false")
	}
	slices.Sort(offered)
	return complete.ListOf(offered...)(cmd, args, word)
}
