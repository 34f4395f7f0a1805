// Package cascade is the command that says what deleting an object takes with it.
package cascade

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/ownerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	ownerflags.Flags
	printer *printing.Printer
	now     func() time.Time
	policy  string
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{
		IOStreams: streams, printer: printing.New("text"), now: time.Now,
		Flags: ownerflags.Flags{Cluster: genericclioptions.NewConfigFlags(true)},
	}
	cmd := &cobra.Command{
		Use:   "cascade (TYPE/NAME... | TYPE NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE)",
		Short: "Say what deleting an object takes with it, deleting nothing",
		Long: `Work out what a deletion does, by the garbage collector's own rules on the owner
references that the cluster has now: what goes and in which order, what stays and
which owner keeps it, what is held by finalizers and who removes them, what waits
behind it, and which owner references the garbage collector takes for absent. With
a namespace goes everything in it, with a CustomResourceDefinition every object of
its type: both wait until the last of that is gone.

The cluster is only read. Where types could not be read the answer says that it is
incomplete, and still exits with 0. What a controller does next, such as making
a new pod for one that went, is not played; a note says so where it is certain.

Policies are those of 'kubectl delete --cascade':
  background  the object goes first, then what it owns
  foreground  what it owns goes first, as far as it blocks the owner
  orphan      only the object goes; what it owned stays without it`,
		Example: `  kctl-ctrl cascade deployment/web
  kctl-ctrl cascade deployment/web --policy foreground
  kctl-ctrl cascade -f old-release/ -o name`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Args = args
			return o.Run(cmd.Context())
		},
		ValidArgsFunction: ownerflags.Complete(),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.policy, "policy", "background", "background, foreground or orphan")
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{"background", "foreground", "orphan"}, cobra.ShellCompDirectiveNoFileComp))
	o.printer.AddFlags(cmd)
	o.AddTo(flags)
	return cmd
}

var policies = map[string]document.CascadePolicy{
	"background": document.CascadeBackground,
	"foreground": document.CascadeForeground,
	"orphan":     document.CascadeOrphan,
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	policy, known := policies[strings.ToLower(o.policy)]
	if !known {
		return fmt.Errorf("unknown --policy %q: use background, foreground or orphan", o.policy)
	}
	if err := o.Check(); err != nil {
		return err
	}
	if err := o.printer.Complete(o.Out); err != nil {
		return err
	}
	var cascade document.Cascade
	found, started := false, o.now()
	err := o.InOne(ctx, o.IOStreams, "a deletion is in one cluster", func(ctx context.Context, c *ownerflags.Cluster, _ func(string)) error {
		targets, err := o.Targets(ctx, c)
		if err != nil {
			return err
		}
		if found = len(targets) > 0; !found {
			cascade = document.Cascade{
				APIVersion: about.APIVersion, Kind: document.CascadeKind, Context: c.ContextName(), Policy: policy, Targets: []state.Ref{},
				Complete: true, Objects: []document.CascadeObject{}, Cost: c.Cost(),
			}
			return nil
		}
		cascade, err = o.play(ctx, c, targets, policy)
		return explain.Error(err, "read owners")
	})
	switch {
	case err != nil:
		return err
	case found:
		cascade.Cost.Duration = o.now().Sub(started)
	case o.printer.ForPeople():
		fmt.Fprintf(o.ErrOut, "No %s found.\n", o.Asked())
		return nil
	}
	return o.show(cascade)
}

// play reads what the deletion can touch and works it out.
func (o *Options) play(ctx context.Context, c *ownerflags.Cluster, targets []*owners.Object, policy document.CascadePolicy) (document.Cascade, error) {
	graph, targets, err := c.ScanAround(ctx, o.Scope(c, targets), targets)
	if err != nil {
		return document.Cascade{}, err
	}
	cascade := graph.Cascade(targets, policy)
	cascade.Context = c.ContextName()
	cascade.Gaps, cascade.Cost = c.Gaps(), c.Cost()
	cascade.Complete = len(cascade.Gaps) == 0
	return cascade, nil
}

func (o *Options) show(cascade document.Cascade) error {
	if !o.printer.ForPeople() {
		err := o.printer.Print(o.Out, printing.Found{
			Document: func() any { return cascade },
			Names:    func() []string { return render.CascadeNames(cascade) },
		})
		if err != nil {
			return err
		}
	} else if err := render.WriteCascade(o.Out, cascade, render.CascadeOptions{
		Wide: o.printer.Format() == "wide", NoHeaders: o.printer.NoHeaders, Color: o.printer.Color,
	}); err != nil {
		return err
	}
	for _, line := range render.ReadSummary(cascade.Cost, cascade.Gaps) {
		fmt.Fprintln(o.ErrOut, line)
	}
	return nil
}
