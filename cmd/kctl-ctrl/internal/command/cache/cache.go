// Package cache is the command that shows objects as the informers of controllers hold them.
package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/look"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	cluster *genericclioptions.ConfigFlags
	printer *printing.Printer
	attach  look.Flags
	flags   *pflag.FlagSet
	now     func() time.Time

	query         attach.CacheQuery
	allNamespaces bool
	offline       bool
	timeout       time.Duration
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{
		IOStreams: streams, cluster: genericclioptions.NewConfigFlags(true), printer: printing.New(), now: time.Now,
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

It looks into the kctl-ctrl that runs on this cluster. Without one it opens an
informer on the type, in the namespace that is asked for, and waits until that has
synced. An informer that has not synced within --timeout is an error, never an
empty list.`,
		Example: `  kctl-ctrl cache deployments -A
  kctl-ctrl cache deployment/web -n shop -o yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return errors.New("name one type or one object, as in pods, pods web-0 or pods/web-0")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.Run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	o.flags = flags
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
	flags.BoolVar(&o.offline, "offline", false, "do not ask the server; print what is held")
	flags.DurationVar(&o.query.Wait, "wait", 0, "how long the informer may take to get where the server is")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "fail when the informer has not synced after this duration")
	o.attach.AddAttach(cmd, "look into the kctl-ctrl with this process id; none opens an informer in any case")
	o.printer.AddFlags(cmd)
	cliflags.AddCluster(o.cluster, flags)
	return cmd
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
func (o *Options) target(args []string) error {
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
	switch {
	case o.query.Wait < 0:
		return errors.New("--wait must not be negative")
	case o.timeout <= 0:
		return errors.New("--timeout must be more than 0")
	}
	o.query.Type, o.query.Name = typ, name
	if o.allNamespaces && name != "" {
		return errors.New("-A goes with a type only: an object has one namespace")
	}
	return nil
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context, args []string) error {
	modes := append(o.attach.NoEffects(),
		cliflags.NoEffect{In: o.attach.Attach != "" && o.attach.Attach != look.None, Flags: []string{"timeout"}, Why: "with --attach=PID, which opens no informer here: leave one of them out"},
		cliflags.NoEffect{In: o.offline, Flags: []string{"wait"}, Why: "with --offline, which does not ask the server how far it is: leave one of them out"},
	)
	if err := errors.Join(o.target(args), o.attach.Check(), o.printer.Complete(o.Out), cliflags.RefuseNoEffect(o.flags, modes...)); err != nil {
		return err
	}
	o.query.Compare, o.query.Sync = !o.offline, o.timeout
	o.query.Whole = !o.printer.ForPeople() && o.printer.Format() != "name"
	if !o.allNamespaces {
		// Without a kubeconfig to read it from, it is the default one.
		namespace, err := cliflags.NamespaceOf(o.cluster)
		if err != nil {
			namespace = "default"
		}
		o.query.Namespace = namespace
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()
	view, process, err := o.read(ctx)
	if err != nil {
		return explain.Cause(ctx, err)
	}
	if err := o.print(view, process); err != nil {
		return err
	}
	if !view.Store.Synced {
		return notSynced(view, process)
	}
	return nil
}

// read looks into the process that runs on the cluster, or opens an informer.
func (o *Options) read(ctx context.Context) (state.CacheView, state.Process, error) {
	in, err := cliflags.OneCluster(o.cluster, "several contexts")
	if err != nil {
		return state.CacheView{}, state.Process{}, err
	}
	if o.attach.Attach == look.None {
		return o.readOwn(ctx, in)
	}
	peer, err := o.attach.Running(ctx, o.IOStreams, in)
	if err != nil {
		return state.CacheView{}, state.Process{}, err
	}
	if peer == nil {
		return o.readOwn(ctx, in)
	}
	view, err := peer.Cache(ctx, o.query)
	return view, peer.Process(), err
}

func (o *Options) print(view state.CacheView, process state.Process) error {
	options := render.StoreOptions{Times: render.Times{Now: o.now(), Ages: console.IsTerminal(o.Out)}}
	err := o.printer.Print(o.Out, printing.Found{
		Document: func() any {
			return cacheDocument{APIVersion: about.APIVersion, Kind: "Cache", Process: process, Store: view.Store, Server: view.Server, Items: view.Objects}
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
	if err != nil || !o.printer.ForPeople() {
		return err
	}
	if len(view.Objects) == 0 && view.Store.Synced {
		fmt.Fprintln(o.ErrOut, "No objects found.")
	}
	fmt.Fprintln(o.ErrOut, render.Freshness(view, options))
	return nil
}
