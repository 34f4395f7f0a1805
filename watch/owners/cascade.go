package owners

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// Cascade simulates the deletion of the targets on a copy of the graph and reports its
// effects. The caller fills in Context, Gaps, Complete and Cost.
//
// The deletion of a Namespace or a CustomResourceDefinition includes its content.
//
// The simulation runs in rounds: each round reacts to the changes of the one before.
// Within a round, the order is undefined, as it is for GC's workers. When nothing
// changes any more, finalizers that are not GC's are removed, as if their controllers
// had done so, and the rounds continue: objects deleted only then are reported as held,
// or as behind held objects.
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

// node is an object of the simulation.
type node struct {
	*Object
	owners     []document.OwnerRef
	finalizers []string
	deleting   bool
	gone       bool
	// conditional: it was deleted after finalizers had been removed.
	conditional bool
	step        int
	// lost is the step in which a dependent that it waited for was deleted.
	lost    int
	policy  document.CascadePolicy
	why     string
	dropped []document.OwnerRef
	heldBy  []string
	behind  []*node
	verdict document.OwnerVerdict // why GC stopped processing it, if it did
	touched bool
	// content must be deleted first: see content.go.
	content []*node
}

func (n *node) has(finalizer string) bool { return slices.Contains(n.finalizers, finalizer) }

// foreground reports whether the node is being deleted and waits for dependents.
func (n *node) foreground() bool { return n.deleting && n.has(metav1.FinalizerDeleteDependents) }

// play is a deletion in progress. Its rules are those of attemptToDeleteItem,
// processDeletingDependentsItem and attemptToOrphanWorker (k8s.io/kubernetes v1.37.1
// pkg/controller/garbagecollector/garbagecollector.go), of processGraphChanges
// (graph_builder.go), and of the API server's delete (k8s.io/apiserver v0.37.1
// pkg/registry/generic/registry/store.go).
type play struct {
	graph *Graph
	nodes map[string]*node
	// dependents has the existing references by owner UID, as in GC's graph.
	dependents map[string]map[string]*node
	queue      map[string]*node
	orphaning  map[string]*node
	marked     map[string]*node
	step       int
	// released are the objects whose finalizers were removed last.
	released []*node
	// races are the objects that GC deletes in the foreground only if it processes them
	// before their owner, which does not wait for them, is deleted.
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

// settle plays rounds until nothing changes.
func (p *play) settle() {
	for len(p.queue)+len(p.orphaning) > 0 {
		p.step++
		queue, orphaning := sorted(p.queue), sorted(p.orphaning)
		p.queue, p.orphaning = map[string]*node{}, map[string]*node{}
		for _, n := range orphaning {
			p.orphan(n)
		}
		// GC queues the dependents of a waiting owner before the owner itself: they
		// still see it waiting.
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

// gcFinalizer is the finalizer that a propagation policy adds for GC to remove.
var gcFinalizer = map[document.CascadePolicy]string{
	document.CascadeForeground: metav1.FinalizerDeleteDependents,
	document.CascadeOrphan:     metav1.FinalizerOrphanDependents,
}

// mark records an object that the deletion has reached and that is being deleted.
func (p *play) mark(n *node) {
	n.touched = true
	p.marked[n.UID] = n
}

// delete does what the API server does on DELETE.
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

// finalize removes a deleted object without finalizers, and notifies the objects
// affected.
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

// blocking are the dependents for which a foreground deletion waits.
func (p *play) blocking(n *node) []*node {
	var list []*node
	for _, d := range p.dependentsOf(n) {
		if slices.ContainsFunc(d.owners, func(r document.OwnerRef) bool { return r.UID == n.UID && r.BlockOwnerDeletion }) {
			list = append(list, d)
		}
	}
	return list
}

// verdict is Graph.Verdict in the current state of the simulation.
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

// justGone reports that an owner was deleted in this round: the next round reacts to
// it.
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

// drop removes references from an object that remains, and notifies owners that they
// blocked.
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

// unblock makes an object's references non-blocking, as GC does if it suspects a cycle.
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
