package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

func (p *treePage) actions(e *env) []action {
	if p.cascade != nil {
		return p.cascade.actions(e)
	}
	r := p.current()
	nothing, absent, leaf := "", "", ""
	switch {
	case r == nil:
		nothing = errNothing.Error()
		absent, leaf = nothing, nothing
		r = &treeRow{OwnerNode: &document.OwnerNode{}, parent: -1}
	case r.Absent:
		absent = "the object is not there"
	}
	if leaf == "" && len(r.Dependents) == 0 {
		leaf = "it owns nothing here"
	}
	o := r.Object
	history := nothing
	if history == "" && !hasHistory(o.Ref) {
		history = "only Deployments, StatefulSets and DaemonSets have revisions"
	}
	noGaps := ""
	if p.tree == nil || len(p.tree.tree.Gaps) == 0 {
		noGaps = "nothing is missing that is known of"
	}
	noPast := ""
	if p.subject == nil {
		noPast = "the roots are shown"
	}
	return append([]action{
		{keys: []string{"enter"}, label: "fold", help: "Fold what is below, or unfold it.", off: leaf, do: func() tea.Cmd { return p.fold(e, r, !r.folded) }},
		{keys: []string{"x"}, label: "delete?", help: "Preview what a deletion would do; nothing is deleted.", off: firstOf(absent, e.without(e.Owners != nil)), do: func() tea.Cmd { return p.preview(e, o) }},
		{keys: []string{"t"}, label: "tree of it", help: "Show the tree around this object: its owners and all that they own.", off: absent, do: func() tea.Cmd {
			ref := o.Ref
			p.past = append(p.past, p.subject)
			return p.turn(e, &ref)
		}},
		{keys: []string{"R"}, label: "roots", help: "Show the roots of the namespace: what owns something, or names an owner that is not there.", off: noPast, do: func() tea.Cmd { p.past = nil; return p.turn(e, nil) }},
		{keys: []string{"b"}, help: "Go back to the tree before.", off: reasonIf(len(p.past) == 0, "there was none"), do: func() tea.Cmd {
			to := p.past[len(p.past)-1]
			p.past = p.past[:len(p.past)-1]
			return p.turn(e, to)
		}},
		{keys: []string{"n"}, label: "namespace", help: "Choose the namespace of the roots.", do: func() tea.Cmd { return p.choose(e) }},
		{keys: []string{"d"}, label: "details", help: "Show all that is known of this object.", off: nothing, do: func() tea.Cmd { return p.open(nodeKey(r.OwnerNode), render.KindName(o)) }},
		{keys: []string{"V"}, help: "Show its revisions.", off: history, do: func() tea.Cmd { return p.jump(pageRevisions, o) }},
		{keys: []string{"T"}, help: "Follow it on the timeline.", off: nothing, do: func() tea.Cmd { return p.jump(pageTimeline, o) }},
		{keys: []string{"C"}, help: "Show it in the cache.", off: absent, do: func() tea.Cmd { return p.jump(pageInformers, o) }},
		{keys: []string{"m"}, help: "Show what could not be read.", off: noGaps, do: func() tea.Cmd {
			return send(showMsg{text: widget.ProseOf("What is missing from this tree", p.missing()...)})
		}},
		{keys: []string{"r"}, help: "Ask again now.", do: func() tea.Cmd { return p.ask(e) }},
		{keys: []string{"h"}, help: "Fold it, or go to its owner.", off: nothing, do: func() tea.Cmd {
			if len(r.Dependents) > 0 && !r.folded {
				return p.fold(e, r, true)
			}
			if r.parent >= 0 {
				p.list.To(p.rows, r.parent)
			}
			return nil
		}},
		{keys: []string{"l"}, help: "Unfold it, or go to the first that it owns.", off: leaf, do: func() tea.Cmd {
			if r.folded {
				return p.fold(e, r, false)
			}
			p.list.Move(p.rows, 1)
			return nil
		}},
		{keys: []string{"F"}, help: "Fold all but the roots.", do: func() tea.Cmd { return p.foldAll(e, true) }},
		{keys: []string{"E"}, help: "Unfold all.", do: func() tea.Cmd { return p.foldAll(e, false) }},
	}, p.arrows(e)...)
}

// arrows fold too where no player has them.
func (p *treePage) arrows(e *env) []action {
	if e.Player != nil {
		return nil
	}
	again := func(key string) func() tea.Cmd {
		return func() tea.Cmd {
			a, _ := find(p.actions(e), key)
			if a.off != "" {
				return nil
			}
			return a.do()
		}
	}
	return []action{
		{keys: []string{"left"}, help: "As h.", do: again("h")},
		{keys: []string{"right"}, help: "As l.", do: again("l")},
	}
}

func reasonIf(yes bool, why string) string {
	if yes {
		return why
	}
	return ""
}

func (p *treePage) fold(e *env, r *treeRow, folded bool) tea.Cmd {
	p.folds[nodeKey(r.OwnerNode)] = folded
	p.flatten(e)
	return nil
}

func (p *treePage) foldAll(e *env, folded bool) tea.Cmd {
	if p.tree == nil {
		return nil
	}
	// The cursor goes to the root that it is below.
	at := p.list.Cursor
	for folded && at < len(p.rows.rows) && p.rows.rows[at].parent >= 0 {
		at = p.rows.rows[at].parent
	}
	if at < len(p.rows.rows) {
		p.list.Selected, p.list.Cursor = p.rows.rows[at].id, at
	}
	for _, root := range p.tree.tree.Roots {
		root.Walk(func(n *document.OwnerNode) {
			if len(n.Dependents) > 0 {
				p.folds[nodeKey(n)] = folded
			}
		})
	}
	p.flatten(e)
	return nil
}

func (p *treePage) jump(to pageID, o document.OwnedObject) tea.Cmd {
	return send(jumpMsg{to, subject{kind: onObject, object: o.Ref, name: kubectlName(o)}})
}

func (p *treePage) open(key, title string) tea.Cmd {
	view := func(e *env) *widget.TextView {
		return &widget.TextView{Title: title, Lines: func(w int) []widget.Line {
			at, ok := p.rows.byKey[key]
			if !ok {
				return []widget.Line{{widget.Warn.Of(" It is not in the tree any more.")}}
			}
			return p.detail(e, &p.rows.rows[at], w)
		}}
	}
	return func() tea.Msg { return openMsg{view} }
}

// choose asks for the namespace of the roots.
func (p *treePage) choose(e *env) tea.Cmd {
	return send(promptMsg{Label: "roots of namespace (* for all): ", Value: p.namespace(e), Done: func(text string) tea.Cmd {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil
		}
		if text == "*" {
			text = ""
		}
		p.chosen, p.past = &text, nil
		return p.turn(e, nil)
	}})
}

func (p *treePage) missing() []string {
	lines := render.GapLines(p.tree.tree.Gaps)
	if n := len(p.tree.tree.NotOwnable); n > 0 {
		lines = append(lines, fmt.Sprintf("The garbage collector does not watch %d types, whose owners mean nothing to it: %s", n, strings.Join(p.tree.tree.NotOwnable, ", ")))
	}
	return lines
}
