package tree

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// foldFrom is the size from which on a tree comes folded below its roots.
	foldFrom = 2000
	// maxBranches is the depth from which on a row says its depth instead of
	// drawing the branches before it.
	maxBranches = 16
)

// grown is an answer with what is counted in it once. It does not change.
type grown struct {
	tree  document.OwnerTree
	nodes int
	page.WatchedObjects
	// What the columns need.
	namespaces, statuses, ages, finalizers, notes bool
}

// grow counts a tree. It is for a command.
func grow(tree document.OwnerTree) *grown {
	g := &grown{tree: tree}
	first := ""
	for i, root := range tree.Roots {
		if i == 0 {
			first = root.Object.Namespace
		}
		root.Walk(func(n *document.OwnerNode) {
			g.nodes++
			g.Watch(n.Object.Ref)
			note, _ := nodeNote(n)
			g.namespaces = g.namespaces || n.Object.Namespace != first
			g.statuses = g.statuses || n.Status != nil || !n.Object.Deleting.IsZero()
			g.ages = g.ages || !n.Object.Created.IsZero()
			g.finalizers = g.finalizers || len(n.Object.Finalizers) > 0
			g.notes = g.notes || note != ""
		})
	}
	return g
}

// treeRow is a node that is not folded away.
type treeRow struct {
	*document.OwnerNode
	id     string
	lead   string
	depth  int
	parent int
	folded bool
}

// nodeKey tells an object from others; what is known from references only has a
// key of its own.
func nodeKey(n *document.OwnerNode) string {
	if n.Absent {
		return "?" + n.Object.UID + " " + n.Object.Ref.String()
	}
	if n.Object.UID == "" {
		return n.Object.Ref.String()
	}
	return n.Object.UID
}

// treeRows are the rows of a tree; made anew when it, the folds or the filter
// change.
type treeRows struct {
	rows  []treeRow
	byID  map[string]int
	byKey map[string]int
	cells func(treeRow) []widget.Cell
}

func (r *treeRows) Len() int                  { return len(r.rows) }
func (r *treeRows) ID(i int) string           { return r.rows[i].id }
func (r *treeRows) Cells(i int) []widget.Cell { return r.cells(r.rows[i]) }

// Find is the place of a row, or of its object where that hangs on another owner
// now.
func (r *treeRows) Find(id string) int {
	if i, ok := r.byID[id]; ok {
		return i
	}
	if i, ok := r.byKey[id[strings.LastIndex(id, "\x00")+1:]]; ok {
		return i
	}
	return -1
}

// flatten makes the rows. Folded tells by its key whether what is below a node
// is hidden; a filter shows all that matches.
func (g *grown) flatten(isFolded func(key string) bool, f widget.Filter) *treeRows {
	out := &treeRows{byID: map[string]int{}, byKey: map[string]int{}}
	var keep map[*document.OwnerNode]bool
	if !f.MatchesAll() {
		keep = map[*document.OwnerNode]bool{}
		for _, root := range g.tree.Roots {
			matching(root, f, keep)
		}
	}
	shownOf := func(nodes []*document.OwnerNode) []*document.OwnerNode {
		if keep == nil {
			return nodes
		}
		var kept []*document.OwnerNode
		for _, n := range nodes {
			if keep[n] {
				kept = append(kept, n)
			}
		}
		return kept
	}
	var visit func(n *document.OwnerNode, parent, depth int, lead, below string)
	visit = func(n *document.OwnerNode, parent, depth int, lead, below string) {
		key := nodeKey(n)
		row := treeRow{OwnerNode: n, id: key, lead: lead, depth: depth, parent: parent}
		if parent >= 0 {
			row.id = nodeKey(out.rows[parent].OwnerNode) + "\x00" + key
		}
		row.folded = keep == nil && len(n.Dependents) > 0 && isFolded(key)
		at := len(out.rows)
		out.rows = append(out.rows, row)
		if _, seen := out.byID[row.id]; !seen {
			out.byID[row.id] = at
		}
		if first, seen := out.byKey[key]; !seen || out.rows[first].Absent {
			out.byKey[key] = at
		}
		if row.folded {
			return
		}
		children := shownOf(n.Dependents)
		for i, d := range children {
			branch, down := render.TreeBranch(i == len(children)-1)
			if depth+1 > maxBranches {
				visit(d, at, depth+1, fmt.Sprintf("… level %d: ", depth+1), below)
				continue
			}
			visit(d, at, depth+1, below+branch, below+down)
		}
	}
	for _, root := range shownOf(g.tree.Roots) {
		visit(root, -1, 0, "", "")
	}
	return out
}

// matching keeps the nodes that a filter shows, and those above them.
func matching(n *document.OwnerNode, f widget.Filter, keep map[*document.OwnerNode]bool) bool {
	fields := []string{render.KindName(n.Object), n.Object.Namespace, n.Object.Type()}
	fields = append(fields, n.Object.Finalizers...)
	fields = append(fields, ownership(n.Edge))
	if n.Status != nil {
		fields = append(fields, n.Status.State, n.Status.Ready)
	}
	note, _ := nodeNote(n)
	yes := f.Matches(append(fields, note)...)
	for _, d := range n.Dependents {
		if matching(d, f, keep) {
			yes = true
		}
	}
	if yes {
		keep[n] = true
	}
	return yes
}

// columns are those that a tree has something for.
func (g *grown) columns() []widget.Column {
	out := []widget.Column{{Title: "NAME", Grow: true, Min: 32}}
	if g.namespaces {
		out = append(out, widget.Column{Title: "NAMESPACE", Max: 30, Drop: 3})
	}
	if g.statuses {
		out = append(out, widget.Column{Title: "READY"}, widget.Column{Title: "STATUS", Min: 9, Max: 24})
	}
	if g.ages {
		out = append(out, widget.Column{Title: "AGE", Right: true, Min: 4, Drop: 5})
	}
	out = append(out, widget.Column{Title: "LAST EVENT", Max: 16, Drop: 2}, widget.Column{Title: "OWNERSHIP", Drop: 1})
	if g.finalizers {
		out = append(out, widget.Column{Title: "FINALIZERS", Max: 40, Drop: 4})
	}
	if g.notes {
		out = append(out, widget.Column{Title: "NOTES", Grow: true, Min: 14})
	}
	return out
}

func (g *grown) cells(e *page.Env, r treeRow) []widget.Cell {
	name := widget.Cell{widget.Dim.Of(r.lead), nameStyle(r.OwnerNode).Of(render.KindName(r.Object))}
	if r.folded {
		name = append(name, widget.Accent.Of(fmt.Sprintf(" [+%d]", len(r.Dependents))))
	}
	if r.Hidden > 0 {
		name = append(name, widget.Warn.Of(fmt.Sprintf(" [%d more not shown]", r.Hidden)))
	}
	out := []widget.Cell{name}
	if g.namespaces {
		out = append(out, widget.Word(r.Object.Namespace, widget.Dim))
	}
	if g.statuses {
		ready, status := nodeStatus(r.OwnerNode)
		out = append(out, widget.Plain(ready), status)
	}
	if g.ages {
		out = append(out, widget.Plain(e.Ago(r.Object.Created)))
	}
	out = append(out, widget.Word(lastEvent(e, r.Object.Ref), widget.Dim), widget.Word(ownership(r.Edge), widget.Dim))
	if g.finalizers {
		out = append(out, widget.Word(strings.Join(r.Object.Finalizers, ","), widget.WarnIf(!r.Object.Deleting.IsZero())))
	}
	if g.notes {
		note, style := nodeNote(r.OwnerNode)
		out = append(out, widget.Word(note, style))
	}
	return out
}

func nameStyle(n *document.OwnerNode) widget.Style {
	switch {
	case n.Absent:
		return widget.Dim
	case n.Target:
		return widget.Bold
	}
	return widget.Text
}

func ownership(edge *document.OwnerEdge) string {
	if edge == nil {
		return ""
	}
	return render.Ownership(edge)
}

// nodeNote is what is odd about a node.
func nodeNote(n *document.OwnerNode) (string, widget.Style) {
	note, wrong := render.TreeNotes(n)
	style := widget.Warn
	if wrong {
		style = widget.Bad
	}
	if o := n.Object; !o.Deleting.IsZero() && len(o.Finalizers) > 0 {
		held := "held by " + strings.Join(o.Finalizers, ", ")
		if note == "" {
			return held, style
		}
		note = held + "; " + note
	}
	return note, style
}

// nodeStatus is an object's readiness and its state, in words.
func nodeStatus(n *document.OwnerNode) (ready string, status widget.Cell) {
	switch {
	case n.Status != nil:
		return n.Status.Ready, widget.Word(n.Status.State, page.HealthStyle(n.Status.Health))
	case !n.Object.Deleting.IsZero():
		return "", widget.Word("Terminating", widget.Warn)
	}
	return "", nil
}

// lastEvent is what an informer told last of an object.
func lastEvent(e *page.Env, ref state.Ref) string {
	o := e.Snap.Object(ref)
	if o == nil || !o.Same(ref) {
		return ""
	}
	return string(o.Change) + " " + e.Ago(o.Changed)
}
