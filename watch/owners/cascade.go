package owners

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// Cascade plays the deletion of the targets on a copy of the graph and reports
// what it does. Context, Gaps, Complete and Cost are the caller's to fill in.
//
// The deletion of a Namespace or a CustomResourceDefinition includes its content.
//
// It goes in rounds: what one round changes, the next one reacts to. Within a
// round GC's workers give no order. When nothing moves any more, finalizers that
// are not GC's are taken off, as if those who serve them had done so, and the
// rounds go on: what goes only then is held, or behind what is held.
func (g *Graph) Cascade(targets []*Object, policy document.CascadePolicy) document.Cascade {
	p := newPlay(g)
	for _, t := range targets {
		p.delete(p.nodes[t.UID], policy, "asked for")
	}
	p.settle()
	for p.release() {
		p.settle()
	}
	return p.report(targets, policy)
}

// node is an object in play.
type node struct {
	*Object
	owners     []document.OwnerRef
	finalizers []string
	deleting   bool
	gone       bool
	// conditional: it went after finalizers had been taken off.
	conditional bool
	step        int
	// lost is the step in which a dependent that it waited for went.
	lost    int
	policy  document.CascadePolicy
	why     string
	dropped []document.OwnerRef
	heldBy  []string
	behind  []*node
	verdict document.OwnerVerdict // why GC gave up on it, if it did
	touched bool
	// content is what goes before it: see content.go.
	content []*node
}

func (n *node) has(finalizer string) bool { return slices.Contains(n.finalizers, finalizer) }

// foreground reports that the node is being deleted and waits for dependents.
func (n *node) foreground() bool { return n.deleting && n.has(metav1.FinalizerDeleteDependents) }

// play is a deletion under way. Its rules are those of attemptToDeleteItem,
// processDeletingDependentsItem and attemptToOrphanWorker (k8s.io/kubernetes
// v1.37.1 pkg/controller/garbagecollector/garbagecollector.go), of
// processGraphChanges (graph_builder.go), and of the API server's delete
// (k8s.io/apiserver v0.37.1 pkg/registry/generic/registry/store.go).
type play struct {
	graph *Graph
	nodes map[string]*node
	// dependents are the living references down, as GC's graph has them: by uid
	// alone.
	dependents map[string]map[string]*node
	queue      map[string]*node
	orphaning  map[string]*node
	marked     map[string]*node
	step       int
	// released are the objects whose finalizers were taken off last.
	released []*node
	// races are the objects that GC deletes in the foreground only if it comes
	// to them before their owner, which does not wait for them, is gone.
	races []*node
	// within are the deleted objects that contain an object.
	within map[string][]*node
}

func newPlay(g *Graph) *play {
	p := &play{
		graph: g, nodes: make(map[string]*node, len(g.byUID)), dependents: map[string]map[string]*node{},
		queue: map[string]*node{}, orphaning: map[string]*node{}, marked: map[string]*node{}, step: 1,
		within: map[string][]*node{},
	}
	for uid, o := range g.byUID {
		p.nodes[uid] = &node{
			Object: o, owners: slices.Clone(o.Owners), finalizers: slices.Clone(o.Finalizers), deleting: !o.Deleting.IsZero(),
		}
	}
	for uid, n := range p.nodes {
		for _, ref := range n.owners {
			if p.dependents[ref.UID] == nil {
				p.dependents[ref.UID] = map[string]*node{}
			}
			p.dependents[ref.UID][uid] = n
		}
	}
	return p
}

func (p *play) dependentsOf(n *node) []*node { return sorted(p.dependents[n.UID]) }

func sorted(set map[string]*node) []*node {
	list := make([]*node, 0, len(set))
	for _, n := range set {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *node) int { return compareObjects(a.Object, b.Object) })
	return list
}

// settle plays rounds until nothing moves.
func (p *play) settle() {
	for len(p.queue)+len(p.orphaning) > 0 {
		p.step++
		queue, orphaning := sorted(p.queue), sorted(p.orphaning)
		p.queue, p.orphaning = map[string]*node{}, map[string]*node{}
		for _, n := range orphaning {
			p.orphan(n)
		}
		// GC queues the dependents of an owner that waits for them before the
		// owner itself: they still see it waiting.
		slices.SortStableFunc(queue, func(a, b *node) int { return cmp.Compare(waits(a), waits(b)) })
		for _, n := range queue {
			if !n.gone {
				p.attempt(n)
			}
		}
	}
}

// waits is 1 for an object that waits for its dependents, else 0.
func waits(n *node) int {
	if n.foreground() {
		return 1
	}
	return 0
}

func (p *play) add(n *node) {
	if n != nil && !n.gone {
		p.queue[n.UID] = n
	}
}

// gcFinalizer is what a policy puts on an object for GC to take off.
var gcFinalizer = map[document.CascadePolicy]string{
	document.CascadeForeground: metav1.FinalizerDeleteDependents,
	document.CascadeOrphan:     metav1.FinalizerOrphanDependents,
}

// mark remembers an object that the deletion has reached and that is being
// deleted.
func (p *play) mark(n *node) {
	n.touched = true
	p.marked[n.UID] = n
}

// delete is what the API server does on DELETE.
func (p *play) delete(n *node, policy document.CascadePolicy, why string) {
	n.policy, n.why = policy, why
	already := n.deleting && n.has(gcFinalizer[policy])
	n.finalizers = slices.DeleteFunc(n.finalizers, func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	if f := gcFinalizer[policy]; f != "" {
		n.finalizers = append(n.finalizers, f)
	}
	n.deleting = true
	p.mark(n)
	p.empties(n)
	if p.finalize(n) || already {
		return
	}
	switch policy {
	case document.CascadeOrphan:
		p.orphaning[n.UID] = n
	case document.CascadeForeground:
		for _, d := range p.dependentsOf(n) {
			p.add(d)
		}
		p.add(n)
	}
}

// finalize takes a deleted object without finalizers away, and wakes those whom
// that concerns.
func (p *play) finalize(n *node) bool {
	if n.gone || !n.deleting || len(n.finalizers) > 0 {
		return n.gone
	}
	n.gone, n.step, n.conditional = true, p.step, len(p.released) > 0
	if n.conditional && len(n.behind) == 0 {
		n.behind = p.released
	}
	p.emptied(n)
	for _, d := range p.dependentsOf(n) {
		p.add(d)
	}
	for _, ref := range n.owners {
		if owner := p.nodes[ref.UID]; owner != nil && owner.foreground() {
			owner.lost = p.step
			p.add(owner)
		}
		delete(p.dependents[ref.UID], n.UID)
	}
	return true
}

// blocking are the dependents that a foreground deletion waits for.
func (p *play) blocking(n *node) []*node {
	var list []*node
	for _, d := range p.dependentsOf(n) {
		if slices.ContainsFunc(d.owners, func(r document.OwnerRef) bool { return r.UID == n.UID && r.BlockOwnerDeletion }) {
			list = append(list, d)
		}
	}
	return list
}

// verdict is Graph.Verdict in the present state of the play.
func (p *play) verdict(n *node, ref document.OwnerRef) document.OwnerVerdict {
	v, _ := p.graph.Verdict(n.Object, ref)
	owner := p.nodes[ref.UID]
	if owner == nil || v != document.OwnerPresent && v != document.OwnerWaiting {
		return v
	}
	switch {
	case owner.gone:
		return document.OwnerAbsent
	case owner.foreground():
		return document.OwnerWaiting
	}
	return document.OwnerPresent
}

// justGone reports that an owner went in this round: the next one reacts to it.
func (p *play) justGone(ref document.OwnerRef) bool {
	owner := p.nodes[ref.UID]
	return owner != nil && owner.gone && owner.step == p.step
}

// attempt is GC's attemptToDeleteItem, after what contains other objects is empty.
func (p *play) attempt(n *node) {
	if n.has(contentFinalizer) {
		p.mark(n)
		p.empty(n)
		return
	}
	if n.deleting && !n.foreground() {
		p.mark(n)
		return
	}
	if n.foreground() {
		p.mark(n)
		p.await(n)
		return
	}
	if len(n.owners) == 0 {
		return
	}
	if slices.ContainsFunc(n.owners, p.justGone) {
		p.add(n)
		return
	}
	n.touched = true
	var lost []document.OwnerRef
	solid, waiting := 0, 0
	for _, ref := range n.owners {
		switch v := p.verdict(n, ref); v {
		case document.OwnerPresent:
			solid++
		case document.OwnerWaiting:
			waiting++
			lost = append(lost, ref)
		case document.OwnerAbsent:
			lost = append(lost, ref)
		default:
			n.verdict = v
			return
		}
	}
	switch {
	case solid > 0:
		p.drop(n, lost)
	case waiting > 0 && len(p.dependents[n.UID]) > 0:
		if slices.ContainsFunc(p.dependentsOf(n), (*node).foreground) {
			p.unblock(n)
		}
		if !slices.ContainsFunc(lost, func(r document.OwnerRef) bool { return r.BlockOwnerDeletion }) {
			p.races = append(p.races, n)
		}
		p.delete(n, document.CascadeForeground, "an owner is deleted in the foreground, and the object has dependents")
	default:
		policy := document.CascadeBackground
		if n.has(metav1.FinalizerOrphanDependents) {
			policy = document.CascadeOrphan
		} else if n.has(metav1.FinalizerDeleteDependents) {
			policy = document.CascadeForeground
		}
		why := "it has no owner left"
		if waiting > 0 {
			why = "an owner is deleted in the foreground and waits for it"
		}
		p.delete(n, policy, why)
	}
}

// await is GC's processDeletingDependentsItem.
func (p *play) await(n *node) {
	if n.lost == p.step {
		p.add(n)
		return
	}
	blocking := p.blocking(n)
	if len(blocking) == 0 {
		n.finalizers = slices.DeleteFunc(n.finalizers, func(f string) bool { return f == metav1.FinalizerDeleteDependents })
		p.finalize(n)
		return
	}
	for _, d := range blocking {
		if !d.foreground() && d.verdict == "" {
			p.add(d)
		}
	}
}

// drop removes references from an object that stays, and wakes owners that they
// have blocked.
func (p *play) drop(n *node, refs []document.OwnerRef) {
	for _, ref := range refs {
		n.owners = slices.DeleteFunc(n.owners, func(r document.OwnerRef) bool { return r.UID == ref.UID })
		n.dropped = append(n.dropped, ref)
		delete(p.dependents[ref.UID], n.UID)
		if owner := p.nodes[ref.UID]; owner != nil && ref.BlockOwnerDeletion {
			p.add(owner)
		}
	}
}

// unblock makes the references of an object not blocking, which GC does where it
// suspects a circle.
func (p *play) unblock(n *node) {
	for i, ref := range n.owners {
		if ref.BlockOwnerDeletion {
			n.owners[i].BlockOwnerDeletion = false
			p.add(p.nodes[ref.UID])
		}
	}
}

// orphan is GC's attemptToOrphanWorker.
func (p *play) orphan(n *node) {
	for _, d := range p.dependentsOf(n) {
		d.touched = true
		var refs []document.OwnerRef
		for _, ref := range d.owners {
			if ref.UID == n.UID {
				refs = append(refs, ref)
			}
		}
		p.drop(d, refs)
	}
	n.finalizers = slices.DeleteFunc(n.finalizers, func(f string) bool { return f == metav1.FinalizerOrphanDependents })
	p.finalize(n)
}
