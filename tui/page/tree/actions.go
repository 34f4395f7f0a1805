package tree

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

func (p *Page) Actions(e *page.Env) []page.Action {
	if p.cascade != nil {
		return p.cascade.actions(e)
	}
	r := p.current()
	nothing, absent, leaf := "", "", ""
	switch {
	case r == nil:
		nothing = page.ErrNothing.Error()
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
	if history == "" && !page.HasHistory(o.Ref) {
		history = "only Deployments, StatefulSets and DaemonSets have revisions"
	}
	noGaps := ""
	if p.tree == nil || len(p.tree.tree.Gaps) == 0 {
		noGaps = "nothing is known to be missing"
	}
	noPast := ""
	if p.subject == nil {
		noPast = "the roots are shown"
	}
	return append([]page.Action{
		{Keys: []string{"enter"}, Label: "fold", Help: "Fold what is below, or unfold it.", Off: leaf, Do: func() tea.Cmd { return p.fold(e, r, !r.folded) }},
		{Keys: []string{"x"}, Label: "delete?", Help: "Preview what a deletion would do; nothing is deleted.", Off: page.FirstOf(absent, e.Without(e.Owners != nil)), Do: func() tea.Cmd { return p.preview(e, o) }},
		{Keys: []string{"t"}, Label: "tree of it", Help: "Show the tree around this object: its owners and all that they own.", Off: absent, Do: func() tea.Cmd {
			ref := o.Ref
			p.past = append(p.past, p.subject)
			return p.turn(e, &ref)
		}},
		{Keys: []string{"R"}, Label: "roots", Help: "Show the roots of the namespace: what owns something, or names an owner that is not there.", Off: noPast, Do: func() tea.Cmd { p.past = nil; return p.turn(e, nil) }},
		{Keys: []string{"b"}, Help: "Go back to the tree before.", Off: reasonIf(len(p.past) == 0, "there was none"), Do: func() tea.Cmd {
			to := p.past[len(p.past)-1]
			p.past = p.past[:len(p.past)-1]
			return p.turn(e, to)
		}},
		{Keys: []string{"n"}, Label: "namespace", Help: "Choose the namespace of the roots.", Do: func() tea.Cmd { return p.choose(e) }},
		{Keys: []string{"d"}, Label: "details", Help: "Show all details of this object.", Off: nothing, Do: func() tea.Cmd { return p.open(nodeKey(r.OwnerNode), render.KindName(o)) }},
		{Keys: []string{"V"}, Help: "Show its revisions.", Off: history, Do: func() tea.Cmd { return p.jump(page.Revisions, o) }},
		{Keys: []string{"T"}, Help: "Follow it on the timeline.", Off: nothing, Do: func() tea.Cmd { return p.jump(page.Timeline, o) }},
		{Keys: []string{"C"}, Help: "Show it in the cache.", Off: absent, Do: func() tea.Cmd { return p.jump(page.Informers, o) }},
		{Keys: []string{"m"}, Help: "Show what could not be read.", Off: noGaps, Do: func() tea.Cmd {
			return page.Send(page.ShowMsg{Text: widget.ProseOf("What is missing from this tree", p.missing()...)})
		}},
		{Keys: []string{"r"}, Help: "Refresh.", Do: func() tea.Cmd { return p.ask(e) }},
		{Keys: []string{"h"}, Help: "Fold it, or go to its owner.", Off: nothing, Do: func() tea.Cmd {
			if len(r.Dependents) > 0 && !r.folded {
				return p.fold(e, r, true)
			}
			if r.parent >= 0 {
				p.list.To(p.rows, r.parent)
			}
			return nil
		}},
		{Keys: []string{"l"}, Help: "Unfold it, or go to the first that it owns.", Off: leaf, Do: func() tea.Cmd {
			if r.folded {
				return p.fold(e, r, false)
			}
			p.list.Move(p.rows, 1)
			return nil
		}},
		{Keys: []string{"F"}, Help: "Fold all but the roots.", Do: func() tea.Cmd { return p.foldAll(e, true) }},
		{Keys: []string{"E"}, Help: "Unfold all.", Do: func() tea.Cmd { return p.foldAll(e, false) }},
	}, p.arrows(e)...)
}

// arrows fold too where no player has them.
func (p *Page) arrows(e *page.Env) []page.Action {
	if e.Player != nil {
		return nil
	}
	again := func(key string) func() tea.Cmd {
		return func() tea.Cmd {
			a, _ := page.Find(p.Actions(e), key)
			if a.Off != "" {
				return nil
			}
			return a.Do()
		}
	}
	return []page.Action{
		{Keys: []string{"left"}, Help: "Same as h.", Do: again("h")},
		{Keys: []string{"right"}, Help: "Same as l.", Do: again("l")},
	}
}

func reasonIf(yes bool, why string) string {
	if yes {
		return why
	}
	return ""
}

func (p *Page) fold(e *page.Env, r *treeRow, folded bool) tea.Cmd {
	p.folds[nodeKey(r.OwnerNode)] = folded
	p.flatten(e)
	return nil
}

func (p *Page) foldAll(e *page.Env, folded bool) tea.Cmd {
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

func (p *Page) jump(to page.ID, o document.OwnedObject) tea.Cmd {
	return page.Send(page.JumpMsg{Page: to, To: page.Subject{Kind: page.OnObject, Object: o.Ref, Name: page.KubectlName(o)}})
}

func (p *Page) open(key, title string) tea.Cmd {
	view := func(e *page.Env) *widget.TextView {
		return &widget.TextView{Title: title, Lines: func(w int) []widget.Line {
			at, ok := p.rows.byKey[key]
			if !ok {
				return []widget.Line{{widget.Warn.Of(" It is not in the tree any more.")}}
			}
			return p.detail(e, &p.rows.rows[at], w)
		}}
	}
	return func() tea.Msg { return page.OpenMsg{View: view} }
}

// choose asks for the namespace of the roots.
func (p *Page) choose(e *page.Env) tea.Cmd {
	return page.Send(page.PromptMsg{Label: "roots of namespace (* for all): ", Value: p.namespace(e), Done: func(text string) tea.Cmd {
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

func (p *Page) missing() []string {
	lines := render.GapLines(p.tree.tree.Gaps)
	if n := len(p.tree.tree.NotOwnable); n > 0 {
		lines = append(lines, fmt.Sprintf("The garbage collector does not watch %d types, whose owners mean nothing to it: %s", n, strings.Join(p.tree.tree.NotOwnable, ", ")))
	}
	return lines
}
