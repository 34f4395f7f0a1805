package tree

import (
	"context"
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// treeWindow is how long changes are collected before they are printed.
const treeWindow = 100 * time.Millisecond

// follow prints what changes in the trees until the user has enough or their
// roots are gone.
func (o *Options) follow(ctx context.Context, g *grownTree) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	live := g.cluster.Follow(ctx, g.graph, g.scope, g.tree.Roots)
	known := map[document.ReadGap]bool{}
	for _, gap := range g.tree.Gaps {
		known[gap] = true
	}
	for live.Wait(ctx, treeWindow) {
		before := g.tree.Roots
		g.graph = live.Graph()
		var roots []*owners.Object
		for _, r := range g.roots {
			if now := g.graph.Object(r.UID); now != nil {
				roots = append(roots, now)
			}
		}
		started := o.now()
		g.tree.Roots = g.graph.Trees(roots, o.depth)
		if g.tree.Roots == nil {
			g.tree.Roots = []*document.OwnerNode{}
		}
		live.Show(g.tree.Roots)
		if err := o.finish(ctx, g, started); err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		if err := o.showChange(g, before); err != nil {
			return err
		}
		for _, gap := range g.tree.Gaps {
			if !known[gap] {
				known[gap] = true
				for _, line := range render.GapLines([]document.ReadGap{gap}) {
					fmt.Fprintln(o.ErrOut, line)
				}
			}
		}
		if len(roots) == 0 {
			fmt.Fprintln(o.ErrOut, "nothing is left of the tree")
			return nil
		}
	}
	return context.Cause(ctx)
}

// showChange draws the tree again on a terminal; elsewhere it prints lines of
// what changed, or for programs the whole document.
func (o *Options) showChange(g *grownTree, before []*document.OwnerNode) error {
	if render.SameTrees(before, g.tree.Roots) {
		return nil
	}
	if !o.printer.ForPeople() {
		return o.print([]document.OwnerTree{g.tree}, false)
	}
	if console.IsTerminal(o.Out) {
		fmt.Fprint(o.Out, console.ClearScreen)
		return o.print([]document.OwnerTree{g.tree}, false)
	}
	for _, line := range render.TreeChanges(before, g.tree.Roots, o.now(), o.printer.Color) {
		fmt.Fprintln(o.Out, line)
	}
	return nil
}
