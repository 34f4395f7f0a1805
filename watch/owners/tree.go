package owners

import (
	"cmp"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxDepth bounds trees requested without a depth: a longer chain is a mistake or an
// attack.
const maxDepth = 200

// builder builds trees. Each object's dependents are shown once, at its first
// occurrence, so that a tree has at most one node per reference.
type builder struct {
	children func(uid string) []*document.OwnerNode
	depth    int
	above    map[string]bool
	shown    map[string]bool
}

func newBuilder(depth int, children func(string) []*document.OwnerNode) *builder {
	if depth <= 0 || depth > maxDepth {
		depth = maxDepth
	}
	return &builder{children: children, depth: depth, above: map[string]bool{}, shown: map[string]bool{}}
}

func (b *builder) fill(n *document.OwnerNode, level int) {
	uid := n.Object.UID
	if n.Absent && uid == "" {
		return
	}
	if b.above[uid] {
		n.Cycle = true
		return
	}
	children := b.children(uid)
	switch {
	case len(children) == 0:
		return
	case b.shown[uid]:
		n.Repeated = true
		return
	case level >= b.depth:
		n.Hidden = len(children)
		return
	}
	b.shown[uid], b.above[uid] = true, true
	n.Dependents = children
	for _, child := range children {
		b.fill(child, level+1)
	}
	delete(b.above, uid)
}

// Trees are the objects with their dependents, down to a depth: 1 means direct
// dependents, 0 all. The roots keep their order.
func (g *Graph) Trees(roots []*Object, depth int) []*document.OwnerNode {
	b := newBuilder(depth, func(uid string) []*document.OwnerNode {
		var nodes []*document.OwnerNode
		for _, d := range g.Dependents(uid) {
			nodes = append(nodes, &document.OwnerNode{Object: d.OwnedObject, Edge: g.edge(d, uid)})
		}
		return nodes
	})
	trees := make([]*document.OwnerNode, 0, len(roots))
	for _, r := range roots {
		n := &document.OwnerNode{Object: r.OwnedObject}
		b.fill(n, 0)
		trees = append(trees, n)
	}
	return trees
}

// edge describes the reference of an object to an owner. If there are several, the best
// one counts: GC keeps the object because of it.
func (g *Graph) edge(o *Object, owner string) *document.OwnerEdge {
	var found *document.OwnerEdge
	for _, ref := range o.Owners {
		if ref.UID != owner {
			continue
		}
		verdict, why := g.Verdict(o, ref)
		if found == nil || verdict == document.OwnerPresent && found.Verdict != document.OwnerPresent {
			found = &document.OwnerEdge{Controller: ref.Controller, BlockOwnerDeletion: ref.BlockOwnerDeletion, Verdict: verdict, Why: why}
		}
	}
	return found
}

// Climb are the trees from the topmost owners down to the target, and nothing else.
// Missing owners appear as absent nodes.
func (g *Graph) Climb(target *Object) []*document.OwnerNode {
	nodes := map[string]document.OwnerNode{target.UID: {Object: target.OwnedObject, Target: true}}
	down := map[string][]document.OwnerNode{}
	var tops []string
	for queue := []string{target.UID}; len(queue) > 0; {
		uid := queue[0]
		queue = queue[1:]
		o := g.byUID[uid]
		if o == nil || len(o.Owners) == 0 {
			tops = append(tops, uid)
			continue
		}
		for _, ref := range o.Owners {
			verdict, why := g.Verdict(o, ref)
			id, node := ref.UID, document.OwnerNode{}
			if owner := g.byUID[ref.UID]; owner != nil && (verdict == document.OwnerPresent || verdict == document.OwnerWaiting) {
				node.Object = owner.OwnedObject
			} else {
				// A missing owner is known only from this reference: it gets a node of
				// its own.
				id = "?" + ref.UID + " " + ref.APIVersion + " " + ref.Kind + " " + o.Namespace + " " + ref.Name
				node = document.OwnerNode{Object: g.claimed(o, ref), Absent: true}
			}
			child := nodes[uid]
			child.Edge = &document.OwnerEdge{Controller: ref.Controller, BlockOwnerDeletion: ref.BlockOwnerDeletion, Verdict: verdict, Why: why}
			again := slices.ContainsFunc(down[id], func(n document.OwnerNode) bool { return n.Object.UID == uid })
			if !again {
				down[id] = append(down[id], child)
			}
			if _, seen := nodes[id]; !seen {
				nodes[id] = node
				queue = append(queue, id)
			}
		}
	}
	return g.descend(nodes, down, tops, target.UID)
}

func (g *Graph) descend(nodes map[string]document.OwnerNode, down map[string][]document.OwnerNode, tops []string, target string) []*document.OwnerNode {
	if len(tops) == 0 { // nothing but a cycle: it starts at the target
		tops = []string{target}
	}
	var trees []*document.OwnerNode
	for _, top := range tops {
		b := newBuilder(0, func(uid string) []*document.OwnerNode {
			var list []*document.OwnerNode
			for _, n := range down[uid] {
				list = append(list, &n)
			}
			slices.SortFunc(list, func(a, b *document.OwnerNode) int {
				return cmp.Or(cmp.Compare(a.Object.Type(), b.Object.Type()), cmp.Compare(a.Object.Key(), b.Object.Key()))
			})
			return list
		})
		root := nodes[top]
		if root.Absent {
			root.Dependents = b.children(top)
			for _, child := range root.Dependents {
				b.fill(child, 1)
			}
		} else {
			b.fill(&root, 0)
		}
		trees = append(trees, &root)
	}
	return trees
}

// claimed is an owner as a reference describes it.
func (g *Graph) claimed(item *Object, ref document.OwnerRef) document.OwnedObject {
	o := document.OwnedObject{Kind: ref.Kind, Ref: state.Ref{Resource: ref.Kind, Name: ref.Name, UID: ref.UID}}
	if t, err := g.kinds.Lookup(ref.APIVersion, ref.Kind); err == nil {
		o.Group, o.Version, o.Resource = t.Group, t.Version, t.Resource
		if t.Namespaced {
			o.Namespace = item.Namespace
		}
	}
	return o
}

// Tops are the topmost existing owners of the objects, each once: the roots of trees
// that show everything related to them.
func (g *Graph) Tops(objects []*Object) []*Object {
	var tops []*Object
	seen := map[string]bool{}
	for _, o := range objects {
		found := false
		g.climb(o, map[string]bool{}, func(top *Object) {
			found = true
			if !seen[top.UID] {
				seen[top.UID] = true
				tops = append(tops, top)
			}
		})
		if !found && !seen[o.UID] {
			seen[o.UID] = true
			tops = append(tops, o)
		}
	}
	return tops
}

func (g *Graph) climb(o *Object, seen map[string]bool, top func(*Object)) {
	for queue := []*Object{o}; len(queue) > 0; {
		o := queue[0]
		queue = queue[1:]
		if seen[o.UID] {
			continue
		}
		seen[o.UID] = true
		alive := g.living(o)
		if len(alive) == 0 {
			top(o)
		}
		queue = append(queue, alive...)
	}
}
