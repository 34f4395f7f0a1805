// Package tree is the command that shows what an object owns, or who owns it.
package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/ownerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	ownerflags.Flags
	printer *printing.Printer
	now     func() time.Time

	up          bool
	root        bool
	depth       int
	status      bool
	statusLimit int
	watch       bool
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{
		IOStreams: streams, printer: printing.New("dot", "mermaid"), now: time.Now,
		Flags: ownerflags.Flags{Cluster: genericclioptions.NewConfigFlags(true)},
	}
	cmd := &cobra.Command{
		Use:   "tree (TYPE/NAME... | TYPE NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE)",
		Short: "Show what an object owns, by ownerReferences",
		Long: `Show the objects that an object owns, and what those own, over every type that
the server has, CustomResourceDefinitions included; or with --up the owners above
it. References that the garbage collector does not follow, to owners that are not
there or in another namespace, are shown as what they are.

Only metadata is read, of the types and in the namespace where dependants can be:
an object in a namespace owns objects there only. Status and readiness cost one
more request for each object shown, or a list where many of a type are. Events
and types that the garbage collector does not watch are not looked at. What you
may not read is named on standard error, and missing from the tree.

With --watch, every type that was read is watched, so that the first dependant of
a type is seen as well: one watch of metadata for each type, or with --api-groups
for those of some groups. Types that the server begins to serve later are not
seen.`,
		Example: `  # A deployment, its replica sets and their pods
  kctl-ctrl tree deployment/web -n shop

  # Who is behind this pod?
  kctl-ctrl tree pod/web-7c9d-x2x --up

  # The whole family of this pod, and its changes
  kctl-ctrl tree pod/web-7c9d-x2x --root --watch

  # As a picture
  kctl-ctrl tree deployment/web -o dot | dot -Tsvg > web.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Args = args
			return o.Run(cmd.Context())
		},
		ValidArgsFunction: ownerflags.Complete(),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.up, "up", false, "show the owners above the object instead of what it owns: one request for each, no lists")
	flags.BoolVar(&o.root, "root", false, "start at the topmost owners of the object")
	flags.IntVar(&o.depth, "depth", 0, "levels below the root to show; 0 is all")
	flags.StringSliceVar(&o.Groups, "api-groups", nil, "look for dependants in these API groups only; \"core\" is the group without a name")
	flags.BoolVar(&o.status, "status", true, "read the status of the objects shown")
	flags.IntVar(&o.statusLimit, "status-limit", 1000, "read the status of this many objects at most")
	flags.BoolVarP(&o.watch, "watch", "w", false, "after the tree, print what changes in it; on a terminal, draw it again")
	o.printer.AddFlags(cmd)
	o.AddTo(flags)
	return cmd
}

func (o *Options) check() error {
	switch {
	case o.up && o.root:
		return errors.New("--up and --root exclude each other")
	case o.up && o.watch:
		return errors.New("--watch does not go with --up: use --root --watch")
	case o.up && o.depth != 0:
		return errors.New("--depth does not go with --up, which shows all owners")
	case o.depth < 0:
		return errors.New("--depth counts levels: it cannot be negative")
	case o.watch && (o.printer.Format() == "dot" || o.printer.Format() == "mermaid"):
		return fmt.Errorf("--watch does not go with -o %s", o.printer.Format())
	}
	err := cliflags.RefuseNoEffect(o.Set,
		cliflags.NoEffect{In: o.up, Flags: []string{"api-groups", "cached", "chunk-size"}, Why: "with --up, which reads each owner by itself and lists nothing: leave one of them out"},
		cliflags.NoEffect{In: !o.status, Flags: []string{"status-limit"}, Why: "with --status=false, which reads no status: leave one of them out"},
	)
	if err != nil {
		return err
	}
	return o.Flags.Check()
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.printer.Complete(o.Out); err != nil {
		return err
	}
	contexts, err := cliflags.Clusters(o.Cluster)
	if err != nil {
		return err
	}
	if o.watch && len(contexts) > 1 {
		return errors.New("--watch follows one context: choose one with --context")
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()

	progress := console.NewProgress(o.ErrOut)
	grown := make([]*grownTree, len(contexts))
	failures := make([]error, len(contexts))
	var wg sync.WaitGroup
	for i, c := range contexts {
		wg.Go(func() { grown[i], failures[i] = o.grow(ctx, c, progress.Line) })
	}
	wg.Wait()
	progress.Done()
	failure := errors.Join(failures...)
	grown = slices.DeleteFunc(grown, func(g *grownTree) bool { return g == nil })
	if len(grown) == 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return failure
	}
	trees := make([]document.OwnerTree, len(grown))
	for i, g := range grown {
		trees[i] = g.tree
	}
	if err := o.show(trees, len(contexts) > 1); err != nil {
		return err
	}
	if o.watch && len(trees[0].Roots) > 0 {
		return o.follow(ctx, grown[0])
	}
	return failure
}

// grownTree is a tree with what is needed to keep it up to date.
type grownTree struct {
	cluster *ownerflags.Cluster
	roots   []*owners.Object
	graph   *owners.Graph
	scope   owners.Scope
	tree    document.OwnerTree
}

// grow reads the trees of one cluster.
func (o *Options) grow(ctx context.Context, in cliflags.Cluster, progress func(string)) (*grownTree, error) {
	started := o.now()
	c, err := o.Open(in, progress)
	if err != nil {
		return nil, err
	}
	g := &grownTree{cluster: c, tree: document.OwnerTree{Context: c.ContextName(), Roots: []*document.OwnerNode{}}}
	if g.roots, err = o.Targets(ctx, c); err != nil {
		return nil, err
	}
	if len(g.roots) > 0 {
		if err := o.read(ctx, g); err != nil {
			return nil, explain.Error(err, "read owners"+c.Suffix())
		}
	}
	if err := o.finish(ctx, g, started); err != nil {
		return nil, err
	}
	return g, nil
}

// checkGroups refuses API groups that the server does not serve: a tree without what
// is in them would look complete.
func checkGroups(groups []string, kinds *owners.Kinds) error {
	served := map[string]bool{}
	for _, t := range append(kinds.Ownable(), kinds.NotOwnable()...) {
		served[cmp.Or(t.Group, "core")] = true
	}
	for gv := range kinds.Failed() {
		served[gv.Group] = true // which is said elsewhere
	}
	for _, group := range groups {
		if !served[cmp.Or(group, "core")] {
			return fmt.Errorf("--api-groups: the server does not serve the API group %q: check the spelling; it serves %s", group, strings.Join(slices.Sorted(maps.Keys(served)), ", "))
		}
	}
	return nil
}

// read makes the graph and draws the trees of it.
func (o *Options) read(ctx context.Context, g *grownTree) error {
	kinds, err := g.cluster.Kinds(ctx)
	if err != nil {
		return err
	}
	if err := checkGroups(o.Groups, kinds); err != nil {
		return err
	}
	if o.up || o.root {
		above, err := g.cluster.Above(ctx, g.roots)
		if err != nil {
			return err
		}
		if o.up {
			g.graph = above
			for _, r := range g.roots {
				g.tree.Roots = append(g.tree.Roots, above.Climb(r)...)
			}
			return nil
		}
		g.roots = above.Tops(g.roots)
	}
	g.scope = o.Scope(g.cluster, g.roots)
	if g.graph, err = g.cluster.Scan(ctx, g.scope); err != nil {
		return err
	}
	for _, r := range g.roots {
		g.graph.Add(r)
	}
	g.tree.Roots = g.graph.Trees(g.roots, o.depth)
	for _, t := range kinds.NotOwnable() {
		g.tree.NotOwnable = append(g.tree.NotOwnable, t.String())
	}
	return nil
}

// finish adds the status and the account.
func (o *Options) finish(ctx context.Context, g *grownTree, started time.Time) error {
	if o.status && len(g.tree.Roots) > 0 {
		left, err := g.cluster.Status(ctx, g.graph, g.tree.Roots, o.statusLimit)
		if err != nil {
			return err
		}
		g.tree.StatusNotRead = left
	}
	g.tree.Gaps = g.cluster.Gaps()
	g.tree.Cost = g.cluster.Cost()
	g.tree.Cost.Duration = o.now().Sub(started)
	return nil
}

// show prints the trees, and on standard error what they cost and what is
// missing.
func (o *Options) show(trees []document.OwnerTree, several bool) error {
	if err := o.print(trees, several); err != nil {
		return err
	}
	for _, tree := range trees {
		prefix := ""
		if several {
			prefix = render.Sanitise(tree.Context) + ": "
		}
		if len(tree.Roots) == 0 {
			fmt.Fprintf(o.ErrOut, "%sNo %s found.\n", prefix, o.Asked())
		}
		for _, line := range render.ReadSummary(tree.Cost, tree.Gaps) {
			fmt.Fprintln(o.ErrOut, prefix+line)
		}
		if tree.StatusNotRead > 0 {
			fmt.Fprintf(o.ErrOut, "%sstatus not read of %d objects: raise --status-limit\n", prefix, tree.StatusNotRead)
		}
	}
	return nil
}

func (o *Options) print(trees []document.OwnerTree, several bool) error {
	if !o.printer.ForPeople() || o.printer.Format() == "dot" || o.printer.Format() == "mermaid" {
		return o.printer.Print(o.Out, printing.Found{
			Document: func() any {
				return document.OwnerTreeList{APIVersion: about.APIVersion, Kind: document.OwnerTreeKind + "List", Items: trees}
			},
			Names: func() []string { return render.TreeNames(trees) },
			Text: func(w io.Writer, format string) error {
				if format == "dot" {
					return render.TreeDOT(w, trees)
				}
				return render.TreeMermaid(w, trees)
			},
		})
	}
	options := render.TreeOptions{
		Times: render.Times{Now: o.now(), Ages: console.IsTerminal(o.Out)},
		Wide:  o.printer.Format() == "wide", NoHeaders: o.printer.NoHeaders, Color: o.printer.Color,
	}
	for i, tree := range trees {
		if several {
			if i > 0 {
				fmt.Fprintln(o.Out)
			}
			fmt.Fprintf(o.Out, "CONTEXT %s\n", render.Sanitise(tree.Context))
		}
		if err := render.WriteTree(o.Out, tree, options); err != nil {
			return err
		}
	}
	return nil
}
