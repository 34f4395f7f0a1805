// Package informers is the command that says what the informers of controllers hold.
package informers

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
}

// New makes the command.
func New(streams genericiooptions.IOStreams, controllers look.Controllers) *cobra.Command {
	o := &Options{
		IOStreams: streams, cluster: genericclioptions.NewConfigFlags(true), printer: printing.New(), now: time.Now,
	}
	cmd := &cobra.Command{
		Use:     "informers [TYPE...]",
		Aliases: []string{"informer"},
		Short:   "Say what the informers of the loops hold, and how fresh it is",
		Long: `List the shared informers of the loops in this program: how many objects each
holds, its resourceVersion, when it last delivered an event and when its
resourceVersion last moved, how often its watch was lost, and how many event
handlers it feeds. -o wide names the controllers that registered them.

An informer whose resourceVersion does not move is not necessarily behind: a
quiet type hears from the server about every minute, by a bookmark. 'cache TYPE'
asks the server.

It looks into the kctl-ctrl that runs on this cluster, or else starts the loops
dry for as long as --for says.

With --from it answers from a recording instead, at its end or at the time that
--at names.`,
		Example: `  kctl-ctrl get informers
  kctl-ctrl get informers pods deployments.apps -o wide`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.Run(cmd.Context(), args) },
	}
	o.flags = cmd.Flags()
	o.attach.Controllers = controllers
	o.attach.AddTo(cmd)
	o.attach.Recording.AddTo(cmd)
	o.printer.AddFlags(cmd)
	cliflags.AddCluster(o.cluster, cmd.Flags())
	return cmd
}

// informerList is what `get informers` prints for programs.
type informerList struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Process    state.Process      `json:"process"`
	Items      []state.StoreStats `json:"items"`
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context, types []string) error {
	if err := errors.Join(o.attach.Check(), o.printer.Complete(o.Out), cliflags.RefuseNoEffect(o.flags, o.attach.NoEffects()...)); err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()
	host, closing, err := o.attach.Open(ctx, o.IOStreams, o.cluster)
	if err != nil {
		return explain.Cause(ctx, err)
	}
	defer closing()
	if o.attach.Recording.Given() {
		o.now = o.attach.Recording.Now // ages are those of then
	}
	stores, err := host.Informers(ctx)
	if err != nil {
		return explain.Cause(ctx, err)
	}
	if stores, err = chooseStores(stores, types); err != nil {
		return err
	}
	if len(stores) == 0 && o.printer.ForPeople() {
		fmt.Fprintln(o.ErrOut, "No informers found.")
	}
	err = o.printer.Print(o.Out, printing.Found{
		Document: func() any {
			return informerList{APIVersion: about.APIVersion, Kind: "InformerList", Process: host.Process(), Items: stores}
		},
		Names: func() []string {
			var names []string
			for _, s := range stores {
				names = append(names, "informer/"+s.Type)
			}
			return names
		},
		Table: func(wide bool) render.Table {
			return render.Informers(stores, render.StoreOptions{Times: render.Times{Now: o.now(), Ages: console.IsTerminal(o.Out)}, Wide: wide})
		},
	})
	if err == nil {
		err = o.attach.Incomplete()
	}
	return err
}

// chooseStores keeps those whose type is named, with or without its group.
func chooseStores(stores []state.StoreStats, types []string) ([]state.StoreStats, error) {
	if len(types) == 0 {
		return stores, nil
	}
	used := map[string]bool{}
	chosen := slices.DeleteFunc(slices.Clone(stores), func(s state.StoreStats) bool {
		resource, _, _ := strings.Cut(s.Type, ".")
		for _, t := range types {
			if t = strings.ToLower(t); t == s.Type || t == resource {
				used[t] = true
				return false
			}
		}
		return true
	})
	for _, t := range types {
		if !used[strings.ToLower(t)] {
			return nil, fmt.Errorf("no loop has an informer for %q: without a type, all are listed", t)
		}
	}
	return chosen, nil
}
