package complete

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"k8s.io/apimachinery/pkg/api/meta"
)

// resources are types by what they are called.
type resources map[string]schema.GroupVersionResource

// Objects completes objects as kubectl names them: TYPE/NAME, or TYPE and NAME.
type Objects struct {
	// Usual are the types offered first, aliases those where none of them fits. Any
	// other type that the cluster serves, custom resources too, is offered where
	// neither fits.
	Usual, Aliases resources
	// Several objects can be named.
	Several bool
}

// Complete is the completion of a command's arguments.
func (t Objects) Complete(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	called, _, slash := strings.Cut(word, "/")
	switch {
	case slash:
		if len(args) > 0 && (!t.Several || !strings.Contains(args[0], "/")) {
			return nil, none
		}
		if resource, ok := t.find(cmd, called); ok {
			return Names(resource, called+"/")(cmd, args, word)
		}
		return nil, none
	case len(args) == 0:
		return t.types(cmd, word)
	case !strings.Contains(args[0], "/") && !strings.Contains(args[0], ",") && (t.Several || len(args) == 1):
		if resource, ok := t.find(cmd, args[0]); ok {
			return Names(resource, "")(cmd, args[1:], word)
		}
		return nil, none
	case t.Several && strings.Contains(args[0], "/"):
		return t.types(cmd, word)
	}
	return nil, none
}

// types offers types that begin with a word, with a slash behind them.
func (t Objects) types(cmd *cobra.Command, word string) ([]string, cobra.ShellCompDirective) {
	offered := StartingWith(word, slices.Sorted(maps.Keys(t.Usual)))
	if len(offered) == 0 {
		offered = StartingWith(word, slices.Sorted(maps.Keys(t.Aliases)))
	}
	if len(offered) == 0 && word != "" {
		offered = StartingWith(word, typesServed(cmd))
	}
	for i := range offered {
		offered[i] += "/"
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// find is the type that is called so, as kubectl finds it: plural, singular, short, or
// with its group.
func (t Objects) find(cmd *cobra.Command, called string) (schema.GroupVersionResource, bool) {
	for _, known := range []resources{t.Usual, t.Aliases} {
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
	resource, err := ResourceNamed(mapper, called)
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

// ResourceNamed finds the resource for a type as kubectl takes it: plural,
// singular, short, or with version and group.
func ResourceNamed(mapper meta.RESTMapper, name string) (schema.GroupVersionResource, error) {
	full, partial := schema.ParseResourceArg(name)
	if full != nil {
		if gvr, err := mapper.ResourceFor(*full); err == nil {
			return gvr, nil
		}
	}
	return mapper.ResourceFor(partial.WithVersion(""))
}

// TypesThatOwn are types whose objects own others, by their singular.
func TypesThatOwn() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{
		"deployment":  {Group: "apps", Version: "v1", Resource: "deployments"},
		"replicaset":  {Group: "apps", Version: "v1", Resource: "replicasets"},
		"statefulset": {Group: "apps", Version: "v1", Resource: "statefulsets"},
		"daemonset":   {Group: "apps", Version: "v1", Resource: "daemonsets"},
		"job":         {Group: "batch", Version: "v1", Resource: "jobs"},
		"cronjob":     {Group: "batch", Version: "v1", Resource: "cronjobs"},
		"service":     {Version: "v1", Resource: "services"},
		"pod":         {Version: "v1", Resource: "pods"},
		"node":        {Version: "v1", Resource: "nodes"},
	}
}
