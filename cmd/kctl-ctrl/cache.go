package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

type cacheOptions struct {
	genericiooptions.IOStreams
	cluster *genericclioptions.ConfigFlags
	printer *outputPrinter
	attach  attachFlags
	now     func() time.Time

	query         attach.CacheQuery
	allNamespaces bool
	offline       bool
}

func newCacheCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &cacheOptions{
		IOStreams: streams, cluster: genericclioptions.NewConfigFlags(true), printer: newPrinter(), now: time.Now,
	}
	cmd := &cobra.Command{
		Use:   "cache TYPE [NAME]",
		Short: "Show objects as the loops see them: what their informers hold",
		Long: `Show what the informers of the loops hold of a type: the objects a controller
works with, which may be older than the server's. -o yaml shows them whole;
values of Secrets are never shown.

Of one object, the resourceVersion is compared with the server's. Of a type, the
informer's is compared with that of a list: where the server is ahead, the type
may just be quiet. Informers hear of that by a bookmark, about every minute;
--wait=75s waits for it, and says "behind" if it does not come.

It looks into the kctl-ctrl that runs on this cluster, or else starts a loop that
reads the type, dry, for as long as --for says.`,
		Example: `  kctl-ctrl cache deployments -A
  kctl-ctrl cache deployment/web -n shop -o yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return errors.New("name one type or one object, as in pods, pods web-0 or pods/web-0")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	cmd.ValidArgsFunction = completeInformerTypes
	flags := cmd.Flags()
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
	flags.BoolVar(&o.offline, "offline", false, "do not ask the server; print what is held")
	flags.DurationVar(&o.query.Wait, "wait", 0, "how long the informer may take to get where the server is")
	o.attach.addTo(cmd)
	o.printer.addFlags(cmd)
	addClusterFlags(o.cluster, flags)
	return cmd
}

// completeInformerTypes completes a type that some loop has an informer of.
func completeInformerTypes(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	infos, err := controllers.List()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var types []string
	for _, info := range infos {
		types = append(types, info.Informers...)
	}
	slices.Sort(types)
	return startingWith(word, slices.DeleteFunc(slices.Compact(types), func(t string) bool { return t == "*" })), cobra.ShellCompDirectiveNoFileComp
}

// cacheDocument is what `cache` prints for programs.
type cacheDocument struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	Process    state.Process        `json:"process"`
	Store      state.StoreStats     `json:"store"`
	Server     *state.ServerView    `json:"server,omitempty"`
	Items      []state.CachedObject `json:"items"`
}

// target reads TYPE, TYPE NAME and TYPE/NAME.
func (o *cacheOptions) target(args []string) error {
	typ, name, slash := strings.Cut(args[0], "/")
	switch {
	case slash && len(args) == 2:
		return fmt.Errorf("%q and %q: name the object once, as TYPE/NAME or TYPE NAME", args[0], args[1])
	case len(args) == 2:
		name = args[1]
	}
	if typ == "" || slash && name == "" {
		return fmt.Errorf("%q: want TYPE, TYPE/NAME or TYPE NAME", args[0])
	}
	if o.query.Wait < 0 {
		return errors.New("--wait must not be negative")
	}
	o.query.Type, o.query.Name = typ, name
	if o.allNamespaces && name != "" {
		return errors.New("-A goes with a type only: an object has one namespace")
	}
	return nil
}

func (o *cacheOptions) run(ctx context.Context, args []string) error {
	if err := errors.Join(o.target(args), o.attach.check(), o.printer.complete(o.Out)); err != nil {
		return err
	}
	o.query.Compare = !o.offline
	o.query.Whole = !o.printer.forPeople() && o.printer.format() != "name"
	if !o.allNamespaces {
		// Without a kubeconfig to read it from, it is the default one.
		namespace, err := namespaceOf(o.cluster)
		if err != nil {
			namespace = "default"
		}
		o.query.Namespace = namespace
	}
	ctx, cancel := withSignals(ctx, o.ErrOut, "stopped")
	defer cancel()
	o.narrow()
	host, closing, err := o.attach.open(ctx, o.IOStreams, o.cluster)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer closing()
	view, err := host.Cache(ctx, o.query)
	if err != nil {
		return causeOf(ctx, err)
	}
	return o.print(view, host.Process())
}

// narrow chooses, in case loops have to be started, one that reads the type: the
// one with the fewest informers. Nobody should wait for forty loops to look at
// one cache. Where the type is not known by what the user calls it, all loops are
// started.
func (o *cacheOptions) narrow() {
	if o.attach.selected == nil || o.attach.selected.Changed {
		return
	}
	infos, err := controllers.List()
	if err != nil {
		return
	}
	typ, known := typeCalled(infos, strings.ToLower(o.query.Type))
	if !known {
		return
	}
	best := -1
	for i, info := range infos {
		if slices.Contains(info.Informers, typ) && info.OnByDefault && (best < 0 || len(info.Informers) < len(infos[best].Informers)) {
			best = i
		}
	}
	if best >= 0 {
		_ = o.attach.selected.Value.Set(infos[best].Name)
	}
}

// typeCalled finds a type that loops read by its name, with or without group and
// plural, or by a beginning that no other has.
func typeCalled(infos []controllers.Info, called string) (string, bool) {
	var begin []string
	for _, info := range infos {
		for _, typ := range info.Informers {
			resource, _, _ := strings.Cut(typ, ".")
			if typ == called || resource == called || resource == called+"s" {
				return typ, true
			}
			if strings.HasPrefix(resource, called) && !slices.Contains(begin, typ) {
				begin = append(begin, typ)
			}
		}
	}
	if len(begin) != 1 {
		return "", false
	}
	return begin[0], true
}

func (o *cacheOptions) print(view state.CacheView, process state.Process) error {
	options := render.StoreOptions{Times: render.Times{Now: o.now(), Ages: isTerminal(o.Out)}}
	err := o.printer.print(o.Out, found{
		Document: func() any {
			return cacheDocument{APIVersion: apiVersion, Kind: "Cache", Process: process, Store: view.Store, Server: view.Server, Items: view.Objects}
		},
		Names: func() []string {
			var names []string
			for _, c := range view.Objects {
				names = append(names, c.Type()+"/"+c.Name)
			}
			return names
		},
		Table: func(wide bool) render.Table {
			options.Wide = wide
			return render.Cache(view, options)
		},
	})
	if err != nil || !o.printer.forPeople() {
		return err
	}
	if len(view.Objects) == 0 {
		fmt.Fprintln(o.ErrOut, "No objects found.")
	}
	fmt.Fprintln(o.ErrOut, render.Freshness(view, options))
	return nil
}
