package tree

import (
	"cmp"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// whyUnknown is said of owners that a snapshot does not have.
const whyUnknown = "no informer has it"

// snapshotTree is the tree that the journal knows: managing owners only, and of
// the types that its informers watch. Without a subject it has all trees of a
// namespace, or of all where that is empty. Its cost is that of the objects in
// the snapshot: it is for a command.
func snapshotTree(s *state.Snapshot, namespace string, subject *state.Ref) document.OwnerTree {
	b := snapshotTrees{Snapshot: s, shown: map[string]bool{}}
	if subject != nil {
		b.around(*subject)
	} else {
		b.all(namespace)
	}
	return document.OwnerTree{Context: s.Session.Context, Roots: b.roots}
}

type snapshotTrees struct {
	*state.Snapshot
	roots []*document.OwnerNode
	shown map[string]bool
}

// owner is the object that manages o, or nil where there is none in the index.
func (b *snapshotTrees) owner(o *state.Object) *state.Object {
	if o.Owner == nil {
		return nil
	}
	owner := b.Object(*o.Owner)
	if owner == nil || !owner.Same(*o.Owner) {
		return nil
	}
	return owner
}

func (b *snapshotTrees) around(subject state.Ref) {
	o := b.Object(subject)
	if o == nil || !o.Same(subject) {
		return
	}
	above := map[string]bool{}
	for top := b.owner(o); top != nil && !above[top.UID]; top = b.owner(o) {
		above[top.UID] = true
		o = top
	}
	b.root(o)
}

func (b *snapshotTrees) all(namespace string) {
	var circles []*state.Object
	for _, o := range b.Objects.All() {
		if namespace != "" && o.Namespace != namespace {
			continue
		}
		switch owner := b.owner(o); {
		case owner != nil:
			circles = append(circles, o)
		case o.Owner != nil || b.owns(o):
			b.root(o)
		}
	}
	for _, o := range circles {
		if !b.shown[o.UID] {
			b.root(o)
		}
	}
}

func (b *snapshotTrees) owns(o *state.Object) bool {
	for range b.OwnedBy(o.UID) {
		return true
	}
	return false
}

// root adds the tree below o; below the owner that it names, where that is not
// in the index.
func (b *snapshotTrees) root(o *state.Object) {
	if b.shown[o.UID] && o.UID != "" {
		return
	}
	node := b.node(o, nil)
	if o.Owner == nil || b.owner(o) != nil {
		b.roots = append(b.roots, node)
		return
	}
	node.Edge = &document.OwnerEdge{Controller: true, Verdict: document.OwnerUnknown, Why: whyUnknown}
	for _, r := range slices.Backward(b.roots) {
		if r.Absent && r.Object.Ref == *o.Owner {
			r.Dependents = append(r.Dependents, node)
			return
		}
		if r.Object.Type() != o.Owner.Type() {
			break // those of one owner come one after the other, nearly always
		}
	}
	b.roots = append(b.roots, &document.OwnerNode{Object: document.OwnedObject{Ref: *o.Owner}, Absent: true, Dependents: []*document.OwnerNode{node}})
}

func (b *snapshotTrees) node(o *state.Object, above []string) *document.OwnerNode {
	n := &document.OwnerNode{Object: document.OwnedObject{Ref: o.Ref}}
	if o.Owner != nil {
		n.Object.Owners = []document.OwnerRef{{
			APIVersion: groupVersion(*o.Owner), Kind: o.Owner.Resource, Name: o.Owner.Name, UID: o.Owner.UID, Controller: true,
		}}
	}
	if o.UID == "" {
		return n
	}
	if slices.Contains(above, o.UID) {
		n.Cycle = true
		return n
	}
	b.shown[o.UID] = true
	above = append(above, o.UID)
	for d := range b.OwnedBy(o.UID) {
		child := b.node(d, above)
		child.Edge = &document.OwnerEdge{Controller: true, Verdict: document.OwnerPresent}
		n.Dependents = append(n.Dependents, child)
	}
	slices.SortStableFunc(n.Dependents, func(a, b *document.OwnerNode) int {
		return cmp.Or(cmp.Compare(a.Object.Type(), b.Object.Type()), cmp.Compare(a.Object.Key(), b.Object.Key()))
	})
	return n
}

func groupVersion(r state.Ref) string { return document.OwnedObject{Ref: r}.APIVersion() }
