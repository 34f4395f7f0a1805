package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TreeOptions control the text of an owner tree. The zero value is suitable for a pipe.
type TreeOptions struct {
	Times
	// Wide adds each object's relation to its owner, its UID, and its status message.
	Wide bool
	// Width cuts lines to a number of cells; zero leaves them whole.
	Width     int
	NoHeaders bool
	Color     bool
}

// WriteTree prints the trees of one cluster:
//
//	NAME                      READY   STATUS      AGE
//	Deployment/web            2/2     Available   5m
//	└── ReplicaSet/web-7c9    2/2     Ready       5m
//	    ├── Pod/web-7c9-5fx   1/1     Running     5m
//	    └── Pod/web-7c9-9kd   1/1     Running     5m
//
// Empty columns are omitted: namespaces if there is only one, finalizers, notes.
func WriteTree(w io.Writer, tree document.OwnerTree, opts TreeOptions) error {
	if len(tree.Roots) == 0 {
		return nil
	}
	t := treeText{opts: opts, namespaces: opts.Wide || severalNamespaces(tree.Roots)}
	t.grid.titles = []string{"NAMESPACE", "NAME", "READY", "STATUS", "AGE", "FINALIZERS", "OWNERSHIP", "UID", "MESSAGE", "NOTES"}
	if !opts.Ages {
		t.grid.titles[4] = "CREATED"
	}
	for _, root := range tree.Roots {
		t.node(root, "", "")
	}
	_, err := io.WriteString(w, t.grid.draw(opts.Width, opts.NoHeaders, opts.Color))
	return err
}

func severalNamespaces(roots []*document.OwnerNode) bool {
	seen := map[string]bool{}
	for _, r := range roots {
		r.Walk(func(n *document.OwnerNode) { seen[n.Object.Namespace] = true })
	}
	return len(seen) > 1
}

type treeText struct {
	opts       TreeOptions
	namespaces bool
	grid       grid
}

// node adds a node's row, prefixed by lead, and the rows of its dependents, prefixed by
// below.
func (t *treeText) node(n *document.OwnerNode, lead, below string) {
	row := make([]cell, len(t.grid.titles))
	if t.namespaces {
		row[0] = cell{text: n.Object.Namespace}
	}
	row[1] = cell{lead: lead, text: KindName(n.Object), style: t.nameStyle(n)}
	if n.Status != nil {
		row[2] = cell{text: n.Status.Ready}
		row[3] = cell{text: n.Status.State, style: healthStyle(n.Status.Health)}
	}
	if !n.Object.Deleting.IsZero() && n.Status == nil {
		row[3] = cell{text: "Terminating", style: yellow}
	}
	row[4] = cell{text: t.age(n.Object.Created)}
	row[5] = cell{text: strings.Join(n.Object.Finalizers, ",")}
	if t.opts.Wide {
		row[6] = cell{text: Ownership(n.Edge)}
		row[7] = cell{text: n.Object.UID}
		if n.Status != nil {
			row[8] = cell{text: n.Status.Message}
		}
	}
	row[9] = notes(n)
	t.grid.add(row...)
	for i, d := range n.Dependents {
		branch, down := TreeBranch(i == len(n.Dependents)-1)
		t.node(d, below+branch, below+down)
	}
	if n.Hidden > 0 {
		row := make([]cell, len(t.grid.titles))
		row[1] = cell{lead: below + "└── ", text: "… " + counted(n.Hidden, "more below", "more below"), style: dim}
		t.grid.add(row...)
	}
}

// TreeBranch returns the prefix of a dependent's name, and the prefix of the names
// below it.
func TreeBranch(last bool) (branch, below string) {
	if last {
		return "└── ", "    "
	}
	return "├── ", "│   "
}

func (t *treeText) nameStyle(n *document.OwnerNode) style {
	switch {
	case n.Absent:
		return dim
	case n.Target:
		return bold
	}
	return plain
}

func (t *treeText) age(created time.Time) string {
	if created.IsZero() {
		return ""
	}
	return t.opts.Since(created)
}

// KindName is "Deployment/web", with its API group if that is not a Kubernetes group:
// "Service.serving.knative.dev/web".
func KindName(o document.OwnedObject) string {
	kind := o.Kind
	if kind == "" {
		kind = o.Resource
	}
	if o.Group != "" && !slices.Contains([]string{"apps", "batch", "autoscaling", "policy"}, o.Group) && !strings.HasSuffix(o.Group, ".k8s.io") {
		kind += "." + o.Group
	}
	return kind + "/" + o.Name
}

func healthStyle(h document.Health) style {
	switch h {
	case document.HealthReady:
		return green
	case document.HealthProgressing:
		return yellow
	case document.HealthFailed:
		return red
	}
	return plain
}

// Ownership describes an object's relation to its owner: "controller,blocks". It is
// empty at a root.
func Ownership(e *document.OwnerEdge) string {
	if e == nil {
		return ""
	}
	words := []string{"owner"}
	if e.Controller {
		words[0] = "controller"
	}
	if e.BlockOwnerDeletion {
		words = append(words, "blocks")
	}
	return strings.Join(words, ",")
}

func notes(n *document.OwnerNode) cell {
	text, wrong := TreeNotes(n)
	if wrong {
		return cell{text: text, style: red}
	}
	return cell{text: text, style: yellow}
}

// TreeNotes are the special conditions of a node; wrong reports that GC does not follow
// its reference.
func TreeNotes(n *document.OwnerNode) (text string, wrong bool) {
	var words []string
	if n.Absent {
		word := "owner not found"
		for _, d := range n.Dependents {
			if d.Edge.Verdict == document.OwnerUnknown || d.Edge.Verdict == document.OwnerUnresolvable {
				word = "owner not read"
			}
		}
		words = append(words, word)
	}
	// An object that is being deleted is not deleted again.
	gone := n.Edge != nil && n.Edge.Verdict == document.OwnerWaiting && !n.Object.Deleting.IsZero()
	if n.Edge != nil && n.Edge.Why != "" && !gone {
		text := map[document.OwnerVerdict]string{
			document.OwnerAbsent:       "GC treats its owner as absent",
			document.OwnerUnresolvable: "GC cannot look up its owner",
			document.OwnerInvalid:      "GC ignores the reference",
			document.OwnerUnknown:      "owner not verified",
			document.OwnerWaiting:      "GC will delete it",
		}[n.Edge.Verdict]
		if n.Edge.Verdict != document.OwnerWaiting && n.Edge.Verdict != document.OwnerUnknown {
			wrong = true
		}
		words = append(words, text+": "+n.Edge.Why)
	}
	if n.Cycle {
		words = append(words, "ownership cycle: shown above")
	}
	if n.Repeated {
		words = append(words, "dependents shown above")
	}
	return strings.Join(words, "; "), wrong
}

// TreeNames are the names of all objects in the trees, each once, as printed by
// `kubectl get -o name`.
func TreeNames(trees []document.OwnerTree) []string {
	var names []string
	for _, tree := range trees {
		seen := map[string]bool{}
		for _, root := range tree.Roots {
			root.Walk(func(n *document.OwnerNode) {
				if !n.Absent && !seen[n.Object.UID] {
					seen[n.Object.UID] = true
					names = append(names, ObjectName(n.Object))
				}
			})
		}
	}
	return names
}

// ObjectName is "deployment.apps/web", sanitised.
func ObjectName(o document.OwnedObject) string {
	kind := strings.ToLower(o.Kind)
	if o.Group != "" {
		kind += "." + o.Group
	}
	return Sanitise(kind + "/" + o.Name)
}

// ReadSummary describes the cost of an answer and what is missing from it.
func ReadSummary(cost document.ReadCost, gaps []document.ReadGap) []string {
	text := counted(int(cost.Requests), "request", "requests") + ", " + bytesText(cost.Bytes) + " read"
	if cost.Types > 0 {
		text += ": " + counted(cost.Objects, "object", "objects") + " of " + counted(cost.Types, "type", "types")
	}
	lines := []string{text + " in " + state.Short(cost.Duration)}
	return append(lines, GapLines(gaps)...)
}

// GapLines list what could not be read, one line for all types with the same reason.
func GapLines(gaps []document.ReadGap) []string {
	type alike struct{ reason, where, message string }
	var order []alike
	types := map[alike][]string{}
	for _, g := range gaps {
		key := alike{g.Reason, "", g.Message}
		if g.Reason == "forbidden" || g.Reason == "budget" {
			key.message = ""
		}
		if g.Namespace != "" {
			key.where = " in namespace " + g.Namespace
		}
		if _, seen := types[key]; !seen {
			order = append(order, key)
		}
		name := g.Type
		if g.Name != "" {
			name += " " + g.Name
		}
		types[key] = append(types[key], name)
	}
	var lines []string
	for _, key := range order {
		text := "not read (" + key.reason + ")" + key.where + ": " + strings.Join(types[key], ", ")
		if key.message != "" {
			text += ": " + key.message
		}
		lines = append(lines, Sanitise(state.OneLine(text)))
	}
	return lines
}

func bytesText(n int64) string {
	const kib = 1024
	switch {
	case n < kib:
		return fmt.Sprintf("%d bytes", n)
	case n < kib*kib:
		return fmt.Sprintf("%d KiB", (n+kib/2)/kib)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(kib*kib))
}
