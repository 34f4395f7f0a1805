package owners

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// foreign are the finalizers that are neither GC's nor for the object's content.
func (n *node) foreign() []string {
	return slices.DeleteFunc(slices.Clone(n.finalizers), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents || f == contentFinalizer
	})
}

// release removes the finalizers that are not GC's from everything that this deletion
// has marked, and reports whether there were any. Objects that are blocked at that
// moment record what they wait for.
func (p *play) release() bool {
	var held []*node
	for _, n := range sorted(p.marked) {
		if n.gone {
			delete(p.marked, n.UID)
		} else if f := n.foreign(); len(f) > 0 {
			n.heldBy = append(n.heldBy, f...)
			held = append(held, n)
		}
	}
	if len(held) == 0 {
		return false
	}
	p.blame(held)
	p.released = held[:min(len(held), maxBehind)]
	p.step++
	for _, n := range held {
		n.finalizers = slices.DeleteFunc(n.finalizers, func(f string) bool { return slices.Contains(n.heldBy, f) })
		if !p.finalize(n) {
			p.add(n)
		}
	}
	return true
}

// blame records a held object in everything that waits for it, directly or indirectly.
func (p *play) blame(held []*node) {
	for _, h := range held {
		seen := map[*node]bool{h: true}
		for queue := []*node{h}; len(queue) > 0; {
			n := queue[0]
			queue = queue[1:]
			waiting := p.waitForContent(n)
			for _, d := range p.dependentsOf(n) { // kept while n exists
				if !d.deleting && !n.foreground() {
					waiting = append(waiting, d)
				}
			}
			for _, ref := range n.owners { // waits for n in the foreground
				if owner := p.nodes[ref.UID]; owner != nil && owner.foreground() && ref.BlockOwnerDeletion {
					waiting = append(waiting, owner)
				}
			}
			for _, w := range waiting {
				if !seen[w] && len(w.behind) < maxBehind {
					seen[w] = true
					w.behind = append(w.behind, h)
					queue = append(queue, w)
				}
			}
		}
	}
}

// maxBehind bounds the held objects that a blocked object names.
const maxBehind = 10
