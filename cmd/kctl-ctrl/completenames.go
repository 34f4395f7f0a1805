package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// resources are types by what they are called.
type resources map[string]schema.GroupVersionResource

// typeNames completes objects as kubectl names them: TYPE/NAME, or TYPE and NAME.
type typeNames struct {
	// usual are the types offered first, aliases those where none of them fits. Any
	// other type that the cluster serves, custom resources too, is offered where
	// neither fits.
	usual, aliases resources
	// several objects can be named.
	several bool
}

// complete is the completion of a command's arguments.
func (t typeNames) complete(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	called, _, slash := strings.Cut(word, "/")
	switch {
	case slash:
		if len(args) > 0 && (!t.several || !strings.Contains(args[0], "/")) {
			return nil, none
		}
		if resource, ok := t.find(cmd, called); ok {
			return completeObjects(resource, called+"/")(cmd, args, word)
		}
		return nil, none
	case len(args) == 0:
		return t.types(cmd, word)
	case !strings.Contains(args[0], "/") && !strings.Contains(args[0], ",") && (t.several || len(args) == 1):
		if resource, ok := t.find(cmd, args[0]); ok {
			return completeObjects(resource, "")(cmd, args[1:], word)
		}
		return nil, none
	case t.several && strings.Contains(args[0], "/"):
		return t.types(cmd, word)
	}
	return nil, none
}

// types offers types that begin with a word, with a slash behind them.
func (t typeNames) types(cmd *cobra.Command, word string) ([]string, cobra.ShellCompDirective) {
	offered := startingWith(word, slices.Sorted(maps.Keys(t.usual)))
	if len(offered) == 0 {
		offered = startingWith(word, slices.Sorted(maps.Keys(t.aliases)))
	}
	if len(offered) == 0 && word != "" {
		offered = startingWith(word, typesServed(cmd))
	}
	for i := range offered {
		offered[i] += "/"
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// find is the type that is called so, as kubectl finds it: plural, singular, short, or
// with its group.
func (t typeNames) find(cmd *cobra.Command, called string) (schema.GroupVersionResource, bool) {
	for _, known := range []resources{t.usual, t.aliases} {
		if resource, ok := known[called]; ok {
			return resource, true
		}
	}
	client := discoveryFor(cmd)
	if client == nil || called == "" {
		return schema.GroupVersionResource{}, false
	}
	cached := memory.NewMemCacheClient(client)
	groups, err := restmapper.GetAPIGroupResources(cached)
	if err != nil && len(groups) == 0 {
		return schema.GroupVersionResource{}, false
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), cached, nil)
	resource, err := resourceNamed(mapper, called)
	return resource, err == nil
}

// typesServed are the types that the cluster serves and lists, in the plural; where
// several groups have one, with the group too.
func typesServed(cmd *cobra.Command) []string {
	client := discoveryFor(cmd)
	if client == nil {
		return nil
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil
	}
	groups := map[string][]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") {
				groups[r.Name] = append(groups[r.Name], gv.Group)
			}
		}
	}
	var names []string
	for name, of := range groups {
		names = append(names, name)
		for _, group := range of {
			if len(of) > 1 && group != "" {
				names = append(names, name+"."+group)
			}
		}
	}
	slices.Sort(names)
	return names
}

// completeQueues completes queues and the controllers that have them.
func completeQueues(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
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
	return startingWith(word, offered), cobra.ShellCompDirectiveNoFileComp
}

// completeCachedObject completes a type that some controller has an informer of, and
// then the name of an object.
func completeCachedObject(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.Contains(word, "/") {
		return completeInformerTypes(cmd, args, word)
	}
	return typeNames{usual: typesThatOwn()}.complete(cmd, args, word)
}

// completeSeveralTypes completes types that some controller has an informer of.
func completeSeveralTypes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	offered, directive := completeInformerTypes(cmd, nil, word)
	return slices.DeleteFunc(offered, func(name string) bool { return slices.Contains(args, name) }), directive
}

// completeRevisions completes the number of a revision of the object that is named; a
// second one after "3..", where two can be given.
func completeRevisions(two bool) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		o := &revisionsOptions{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), cluster: configFlagsOf(cmd)}
		if o.parse(args) != nil {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		_, history, err := o.read(ctx)
		if err != nil {
			return nil, none
		}
		return startingWith(word, revisionWords(history.List().Items, word, two)), none
	}
}

// revisionWords are the numbers of revisions; behind "3.." those of the second one.
func revisionWords(items []state.Revision, word string, two bool) []string {
	before := ""
	if from, _, second := strings.Cut(word, ".."); second && two {
		before = from + ".."
	}
	var words []string
	for _, item := range items {
		if number := strconv.FormatInt(item.Revision, 10); number+".." != before {
			words = append(words, before+number)
		}
	}
	return words
}
