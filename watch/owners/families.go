package owners

import (
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// Roots are the objects at which the trees of the graph start, ordered by type and
// name: objects without an existing owner that own something or name an owner. Objects
// without owners and dependents are left out. Of objects that own each other in a
// cycle, without an owner outside it, the first is the root.
func (g *Graph) Roots() []*Object {
	related := make([]*Object, 0, len(g.byUID))
	for uid, o := range g.byUID {
		if len(o.Owners) > 0 || len(g.dependents[uid]) > 0 {
			related = append(related, o)
		}
	}
	slices.SortFunc(related, compareObjects)
	var roots []*Object
	covered := map[string]bool{}
	take := func(o *Object) {
		roots = append(roots, o)
		covered[o.UID] = true
		for queue := []string{o.UID}; len(queue) > 0; queue = queue[1:] {
			for _, d := range g.dependents[queue[0]] {
				if !covered[d.UID] {
					covered[d.UID] = true
					queue = append(queue, d.UID)
				}
			}
		}
	}
	for _, o := range related {
		if len(g.living(o)) == 0 {
			take(o)
		}
	}
	if len(covered) < len(related) {
		for _, o := range related {
			if !covered[o.UID] {
				take(o)
			}
		}
		slices.SortFunc(roots, compareObjects)
	}
	return roots
}

// Dependent are the objects that name an owner, in no particular order.
func (g *Graph) Dependent() []*Object {
	var list []*Object
	for _, o := range g.byUID {
		if len(o.Owners) > 0 {
			list = append(list, o)
		}
	}
	return list
}

// living are the existing owners of an object.
func (g *Graph) living(o *Object) []*Object {
	var alive []*Object
	for _, ref := range o.Owners {
		verdict, _ := g.Verdict(o, ref)
		if owner := g.byUID[ref.UID]; owner != nil && (verdict == document.OwnerPresent || verdict == document.OwnerWaiting) {
			alive = append(alive, owner)
		}
	}
	return alive
}

// Families are the complete Trees of the roots, below the missing owners that they
// name. A root with several missing owners appears below each.
func (g *Graph) Families(roots []*Object) []*document.OwnerNode {
	var out []*document.OwnerNode
	absent := map[string]*document.OwnerNode{}
	for i, tree := range g.Trees(roots, 0) {
		o, shown := roots[i], false
		for _, ref := range o.Owners {
			verdict, why := g.Verdict(o, ref)
			if verdict == document.OwnerPresent || verdict == document.OwnerWaiting {
				continue
			}
			id := ref.UID + " " + ref.APIVersion + " " + ref.Kind + " " + o.Namespace + " " + ref.Name
			above := absent[id]
			if above == nil {
				above = &document.OwnerNode{Object: g.claimed(o, ref), Absent: true}
				absent[id] = above
				out = append(out, above)
			}
			if slices.ContainsFunc(above.Dependents, func(n *document.OwnerNode) bool { return n.Object.UID == o.UID }) {
				continue
			}
			child := *tree
			child.Edge = &document.OwnerEdge{Controller: ref.Controller, BlockOwnerDeletion: ref.BlockOwnerDeletion, Verdict: verdict, Why: why}
			if shown && len(child.Dependents) > 0 {
				child.Dependents, child.Repeated = nil, true
			}
			above.Dependents = append(above.Dependents, &child)
			shown = true
		}
		if !shown {
			out = append(out, tree)
		}
	}
	return out
}
