package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// PlanOptions control the text of a plan.
type PlanOptions struct {
	Color bool
}

// WritePlan prints a plan: the counts; by namespace, a tree for each object without
// owner; the changed fields; and the warnings and limits of the plan. Every line of the
// tree begins with a marker: "+" created, "-" deleted, "~" changed, "=" unchanged and
// shown for its children; colour only repeats it. Lines are never truncated, so that no
// warning is lost.
func WritePlan(w io.Writer, p document.Plan, opts PlanOptions) error {
	t := planText{opts: opts}
	t.headline(p)
	t.trees(p.Roots)
	t.fields(p.FieldDiffs)
	t.list("Not settled (the plan is partial)", yellow, p.Unsettled)
	t.list("Warnings", yellow, p.Warnings)
	t.list("Due later", plain, p.Timers)
	t.list("Not simulated", dim, p.NotSimulated)
	_, err := io.WriteString(w, t.out.String())
	return err
}

type planText struct {
	opts PlanOptions
	out  strings.Builder
}

func (t *planText) print(indent int, l line) {
	l = append(line{{strings.Repeat("  ", indent), plain}}, l...)
	t.out.WriteString(l.draw(0, t.opts.Color) + "\n")
}

func (t *planText) heading(text string) {
	t.out.WriteString("\n")
	t.print(0, line{{text, bold}})
}

func (t *planText) list(title string, s style, texts []string) {
	if len(texts) == 0 {
		return
	}
	t.heading(title)
	for _, text := range texts {
		t.print(1, line{{text, s}})
	}
}

func (t *planText) headline(p document.Plan) {
	s := p.Summary
	if !p.HasChanges {
		text := "No changes: " + counted(s.Unchanged, "object unchanged", "objects unchanged") + ", and no controller has work to do."
		t.print(0, line{{text, bold}})
		return
	}
	counts := fmt.Sprintf("%d to create, %d to change, %d to delete", s.Create, s.Change, s.Delete)
	if s.Unchanged > 0 {
		counts += fmt.Sprintf(", %d unchanged", s.Unchanged)
	}
	l := line{{"Plan: ", bold}, {counts, bold}}
	if p.KubernetesVersion != "" {
		l = append(l, span{" (Kubernetes " + p.KubernetesVersion + ")", dim})
	}
	t.print(0, l)
	if text := tallies(s.Controllers); text != "" {
		t.print(0, line{{"Controllers: " + text, plain}})
	}
}

// tallies is "3 Pods created, 1 deleted; 1 ReplicaSet created, 1 scaled".
func tallies(list []document.PlanTally) string {
	var kinds []string
	for _, tally := range list {
		var parts []string
		for _, some := range []struct {
			n    int
			verb string
		}{
			{tally.Created, "created"}, {tally.Replaced, "replaced"}, {tally.Scaled, "scaled"},
			{tally.Changed - tally.Scaled, "changed"}, {tally.Deleted, "deleted"},
		} {
			switch {
			case some.n <= 0:
			case len(parts) == 0:
				parts = append(parts, counted(some.n, tally.Kind, many(tally.Kind))+" "+some.verb)
			default:
				parts = append(parts, fmt.Sprintf("%d %s", some.n, some.verb))
			}
		}
		if len(parts) > 0 {
			kinds = append(kinds, strings.Join(parts, ", "))
		}
	}
	return strings.Join(kinds, "; ")
}

// many is the plural of a kind: "Pods", "NetworkPolicies", "Ingresses".
func many(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	case strings.HasSuffix(kind, "y") && !strings.ContainsAny(kind[max(0, len(kind)-2):len(kind)-1], "aeiou"):
		return kind[:len(kind)-1] + "ies"
	}
	return kind + "s"
}

// row is a line of the tree in two columns.
type row struct {
	depth  int
	action document.PlanAction
	name   string
	facts  string
	note   string
}

func (t *planText) trees(roots []document.PlanNode) {
	for len(roots) > 0 {
		namespace := roots[0].Namespace
		end := slices.IndexFunc(roots, func(n document.PlanNode) bool { return n.Namespace != namespace })
		if end < 0 {
			end = len(roots)
		}
		if namespace == "" {
			t.heading("cluster")
		} else {
			t.heading("namespace " + namespace)
		}
		var rows []row
		for _, root := range roots[:end] {
			rows = appendRows(rows, 1, []document.PlanNode{root}, [][]string{{root.Name}})
		}
		t.rows(rows)
		roots = roots[end:]
	}
}

// columnMax is the rightmost start of the facts column; longer names shift their own
// facts.
const columnMax = 52

func (t *planText) rows(rows []row) {
	column := 0
	for _, r := range rows {
		if width := 2*r.depth + 2 + Width(Sanitise(r.name)); width <= columnMax {
			column = max(column, width)
		}
	}
	for _, r := range rows {
		marker, s := markerOf(r.action)
		name := Sanitise(r.name)
		if r.facts != "" || r.note != "" {
			name = Pad(name, column-2*r.depth-2) + "  "
		}
		l := line{{marker + " ", s}, {name, nameStyleOf(r.action)}, {r.facts, plain}}
		if r.note != "" {
			l = append(l, span{strings.TrimPrefix(prefixed(r.facts != "", ", ")+r.note, " "), dim})
		}
		t.print(r.depth, l)
	}
}

func prefixed(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

func markerOf(action document.PlanAction) (string, style) {
	switch action {
	case document.PlanCreated:
		return "+", green
	case document.PlanDeleted:
		return "-", red
	case document.PlanUnchanged:
		return "=", dim
	default:
		return "~", yellow
	}
}

func nameStyleOf(action document.PlanAction) style {
	if action == document.PlanUnchanged {
		return dim
	}
	return plain
}

// appendRows adds nodes and their children. names are the names that each node
// represents.
func appendRows(rows []row, depth int, nodes []document.PlanNode, names [][]string) []row {
	for i, n := range nodes {
		rows = append(rows, row{depth, n.Action, title(n, names[i]), facts(n), n.Note})
		children, childNames := folded(n.Children)
		rows = appendRows(rows, depth+1, children, childNames)
	}
	return rows
}

// folded merges siblings that differ only in their names.
func folded(nodes []document.PlanNode) ([]document.PlanNode, [][]string) {
	var out []document.PlanNode
	var names [][]string
	at := map[string]int{}
	for _, n := range nodes {
		key := signature(n)
		if i, ok := at[key]; ok && !strings.Contains(n.Name, "*") {
			out[i] = addUp(out[i], n)
			names[i] = append(names[i], n.Name)
			continue
		}
		at[key] = len(out)
		out = append(out, n)
		names = append(names, []string{n.Name})
	}
	return out, names
}

func signature(n document.PlanNode) string {
	n.Name, n.Source = "", ""
	children := n.Children
	n.Children = nil
	text, err := json.Marshal(n)
	if err != nil {
		return n.Name
	}
	for _, child := range children {
		generated := ""
		if strings.Contains(child.Name, "*") {
			generated = child.Name
		}
		text = append(text, "("+generated+signature(child)+")"...)
	}
	return string(text)
}

// addUp adds the counts of b, which has the same signature, to a.
func addUp(a, b document.PlanNode) document.PlanNode {
	a.Counts.Created += b.Counts.Created
	a.Counts.Changed += b.Counts.Changed
	a.Counts.Replaced += b.Counts.Replaced
	a.Counts.Deleted += b.Counts.Deleted
	a.Counts.Unchanged += b.Counts.Unchanged
	a.Children = slices.Clone(a.Children)
	for i := range a.Children {
		a.Children[i] = addUp(a.Children[i], b.Children[i])
	}
	return a
}

// maxNames is how many names a row lists.
const maxNames = 3

// title is "Deployment web", "4 Pods web-7c9d4f-*", "Pods db-0, db-1".
func title(n document.PlanNode, names []string) string {
	kind := n.Kind
	c := n.Counts
	touched := c.Created + c.Changed + c.Replaced + c.Deleted
	if n.Action == document.PlanReplaced && c.Created > 0 {
		touched = c.Created + c.Replaced
	}
	switch {
	case strings.Contains(n.Name, "*") && touched > 0 && !mixed(n):
		kind = counted(touched, n.Kind, many(n.Kind))
	case strings.Contains(n.Name, "*") || len(names) > 1:
		kind = many(n.Kind)
	}
	shown := strings.Join(names[:min(len(names), maxNames)], ", ")
	if more := len(names) - maxNames; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return kind + " " + shown
}

// mixed reports whether the members have different actions.
func mixed(n document.PlanNode) bool {
	c := n.Counts
	kinds := 0
	for _, count := range []int{c.Created, c.Changed, c.Replaced, c.Deleted} {
		if count > 0 {
			kinds++
		}
	}
	return kinds > 1 && n.Action != document.PlanReplaced
}

// facts describes what happened to a node.
func facts(n document.PlanNode) string {
	var parts []string
	c := n.Counts
	switch {
	case mixed(n):
		for _, some := range []struct {
			n    int
			verb string
		}{{c.Created, "created"}, {c.Replaced, "replaced"}, {c.Changed, "changed"}, {c.Deleted, "deleted"}} {
			if some.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", some.n, some.verb))
			}
		}
	case n.Action == document.PlanUnchanged:
		return ""
	case n.Action == document.PlanChanged && (n.Scale != nil || n.Status.From != n.Status.To):
	default:
		parts = append(parts, string(n.Action))
	}
	if c.Unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%d kept", c.Unchanged))
	}
	if n.Scale != nil && n.Action != document.PlanDeleted {
		switch {
		case n.Action == document.PlanCreated && strings.Contains(n.Status.To, "/"):
		case n.Action == document.PlanCreated:
			parts = append(parts, counted(int(n.Scale.To), "replica", "replicas"))
		default:
			parts = append(parts, fmt.Sprintf("scaled %d → %d", n.Scale.From, n.Scale.To))
		}
	}
	if text := transition(n.Status); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// transition is "3/3 → 4/4 ready", "allowed: 1 → 2", "pending → bound", "ready": words
// that both sides start or end with appear once.
func transition(s document.PlanTransition) string {
	if s.From == s.To || s.From == "" || s.To == "" {
		return s.To
	}
	from, to := strings.Fields(s.From), strings.Fields(s.To)
	if strings.Contains(s.From+s.To, ",") {
		return s.From + " → " + s.To
	}
	for len(from) > 1 && len(to) > 1 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	for len(from) > 1 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	before, after, _ := strings.Cut(s.To, strings.Join(to, " "))
	return before + strings.Join(from, " ") + " → " + strings.Join(to, " ") + after
}
