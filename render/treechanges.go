package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// TreeChanges are the differences between two states of the same trees, a line for each
// object that was added, changed or removed:
//
//	15:04:05 + Pod/web-7c9-5fx below ReplicaSet/web-7c9: 0/1 Pending
//	15:04:06 ~ Pod/web-7c9-5fx: 0/1 Pending → 1/1 Running
//	15:04:09 - Pod/web-7c9-5fx
//
// Objects are in the order of the newer tree; removed objects come last.
func TreeChanges(old, new []*document.OwnerNode, at time.Time, color bool) []string {
	before, after := placesOf(old), placesOf(new)
	time := span{at.UTC().Format("15:04:05") + " ", dim}
	var lines []string
	for _, uid := range after.order {
		now := after.nodes[uid]
		then, known := before.nodes[uid]
		l := line{time, {"+ ", green}, {now.name(), plain}}
		switch {
		case !known:
			if now.owner != "" {
				l = append(l, span{" below " + now.owner, dim})
			}
			if s := now.status(); s != "" {
				l = append(l, span{": ", plain}, span{s, now.style()})
			}
		case then.status() != now.status():
			l[1] = span{"~ ", yellow}
			l = append(l, span{": " + OrNone(then.status()) + " → ", plain}, span{OrNone(now.status()), now.style()})
		case then.owner != now.owner:
			l[1] = span{"~ ", yellow}
			l = append(l, span{": below " + cmp.Or(then.owner, "nothing") + " → below " + cmp.Or(now.owner, "nothing"), plain})
		default:
			continue
		}
		lines = append(lines, l.draw(0, color))
	}
	for _, uid := range before.order {
		if _, there := after.nodes[uid]; !there {
			lines = append(lines, line{time, {"- ", red}, {before.nodes[uid].name(), plain}}.draw(0, color))
		}
	}
	return lines
}

// placed is an object with the owner below which it is shown first.
type placed struct {
	*document.OwnerNode
	owner string
}

func (p placed) name() string {
	name := KindName(p.Object)
	if p.Object.Namespace != "" {
		name += " in " + p.Object.Namespace
	}
	return name
}

func (p placed) status() string {
	var words []string
	if p.Status != nil {
		words = append(words, p.Status.Ready, p.Status.State)
	}
	if !p.Object.Deleting.IsZero() && (p.Status == nil || p.Status.State != "Terminating") {
		words = append(words, "Terminating")
	}
	if len(p.Object.Finalizers) > 0 {
		words = append(words, "finalizers "+strings.Join(p.Object.Finalizers, ","))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

func (p placed) style() style {
	if p.Status == nil {
		return plain
	}
	return healthStyle(p.Status.Health)
}

type places struct {
	nodes map[string]placed
	order []string
}

func placesOf(roots []*document.OwnerNode) places {
	p := places{nodes: map[string]placed{}}
	var visit func(n *document.OwnerNode, owner string)
	visit = func(n *document.OwnerNode, owner string) {
		if _, seen := p.nodes[n.Object.UID]; !seen {
			p.nodes[n.Object.UID] = placed{n, owner}
			p.order = append(p.order, n.Object.UID)
		}
		for _, d := range n.Dependents {
			visit(d, KindName(n.Object))
		}
	}
	for _, r := range roots {
		visit(r, "")
	}
	return p
}

// SameTrees reports whether the visible parts are equal.
func SameTrees(a, b []*document.OwnerNode) bool {
	pa, pb := placesOf(a), placesOf(b)
	return maps.EqualFunc(pa.nodes, pb.nodes, func(x, y placed) bool { return x.owner == y.owner && x.status() == y.status() })
}
