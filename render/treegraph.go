package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// edges are the nodes and references of trees, each once, with short ids.
type edges struct {
	ids   map[string]string
	nodes []graphNode
	links []graphLink
	seen  map[[2]string]bool
}

type graphNode struct {
	id string
	*document.OwnerNode
}

type graphLink struct {
	from, to string
	*document.OwnerEdge
}

func graphOf(trees []document.OwnerTree) *edges {
	g := &edges{ids: map[string]string{}, seen: map[[2]string]bool{}}
	for _, tree := range trees {
		for _, root := range tree.Roots {
			g.visit(tree.Context, root, "")
		}
	}
	return g
}

func (g *edges) visit(context string, n *document.OwnerNode, owner string) {
	key := context + "\x00" + n.Object.UID
	if n.Absent {
		key += "\x00" + n.Object.String()
	}
	id, known := g.ids[key]
	if !known {
		id = fmt.Sprintf("n%d", len(g.ids))
		g.ids[key] = id
		g.nodes = append(g.nodes, graphNode{id, n})
	}
	if owner != "" && !g.seen[[2]string{owner, id}] {
		g.seen[[2]string{owner, id}] = true
		g.links = append(g.links, graphLink{owner, id, n.Edge})
	}
	for _, d := range n.Dependents {
		g.visit(context, d, id)
	}
}

// followed reports whether GC follows the reference.
func (l graphLink) followed() bool {
	return l.OwnerEdge == nil || l.Verdict == document.OwnerPresent || l.Verdict == document.OwnerWaiting
}

func label(n *document.OwnerNode, gap string) []string {
	lines := []string{KindName(n.Object)}
	if n.Object.Namespace != "" {
		lines = append(lines, n.Object.Namespace)
	}
	if n.Status != nil {
		lines = append(lines, strings.TrimSpace(n.Status.Ready+gap+n.Status.State))
	}
	if n.Absent {
		lines = append(lines, "not found")
	}
	for i := range lines {
		lines[i] = Sanitise(lines[i])
	}
	return lines
}

// TreeDOT writes the trees as a Graphviz graph. References that GC does not follow are
// dashed and red, references to owners that are not controllers are dotted.
func TreeDOT(w io.Writer, trees []document.OwnerTree) error {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	g := graphOf(trees)
	var out strings.Builder
	out.WriteString("digraph owners {\n  rankdir=LR;\n  node [shape=box];\n")
	for _, n := range g.nodes {
		lines := label(n.OwnerNode, " ")
		for i := range lines {
			lines[i] = quote.Replace(lines[i])
		}
		attributes := ""
		if n.Absent {
			attributes = ", style=dashed"
		}
		fmt.Fprintf(&out, "  %s [label=\"%s\"%s];\n", n.id, strings.Join(lines, `\n`), attributes)
	}
	for _, l := range g.links {
		attributes := ""
		if !l.followed() {
			attributes = " [style=dashed, color=red]"
		} else if l.OwnerEdge != nil && !l.Controller {
			attributes = " [style=dotted]"
		}
		fmt.Fprintf(&out, "  %s -> %s%s;\n", l.from, l.to, attributes)
	}
	out.WriteString("}\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// TreeMermaid writes the trees as a Mermaid flowchart, which Markdown viewers draw.
// References that GC does not follow are crossed out.
func TreeMermaid(w io.Writer, trees []document.OwnerTree) error {
	g := graphOf(trees)
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	for _, n := range g.nodes {
		lines := label(n.OwnerNode, " ")
		for i := range lines {
			lines[i] = mermaidText(lines[i])
		}
		fmt.Fprintf(&out, "  %s[\"%s\"]\n", n.id, strings.Join(lines, "<br/>"))
	}
	for _, l := range g.links {
		arrow := "-->"
		if !l.followed() {
			arrow = "--x"
		} else if l.OwnerEdge != nil && !l.Controller {
			arrow = "-.->"
		}
		fmt.Fprintf(&out, "  %s %s %s\n", l.from, arrow, l.to)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// mermaidText encodes all characters that Mermaid or HTML could read as markup.
func mermaidText(s string) string {
	var out strings.Builder
	for _, r := range s {
		if r == '-' || r == '.' || r == '/' || r == ' ' || r == ':' || r == '_' ||
			r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			out.WriteRune(r)
			continue
		}
		fmt.Fprintf(&out, "#%d;", r)
	}
	return out.String()
}
