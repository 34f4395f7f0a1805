package revisions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func (p *Page) Actions(e *page.Env) []page.Action {
	r := p.current()
	nothing, noRevision := "", ""
	switch {
	case r == nil:
		nothing = page.ErrNothing.Error()
		noRevision, r = nothing, &revisionRow{history: &state.RevisionList{}}
	case r.revision == nil:
		noRevision = "no revision is selected"
	}
	backend := e.Without(e.Revisions != nil)
	compare, compareOff := "diff live", noRevision
	if len(p.marks) == 2 {
		compare, compareOff = "diff both", ""
	} else if len(p.marks) == 1 {
		compareOff = ""
	}
	toggle := func(fold bool) func() tea.Cmd {
		return func() tea.Cmd { return p.fold(e, r, fold) }
	}
	enter, enterHelp := "unfold", "Show the revisions, or hide them; on a revision, all that is known of it."
	if r.revision != nil {
		enter = "details"
	} else if !r.folded {
		enter = "fold"
	}
	mark := []string{" ", "m"}
	if e.Player != nil {
		mark = mark[1:] // space plays
	}
	target := r.history.Object
	if r.revision != nil && r.revision.Object.Resource == "replicasets" {
		target = r.revision.Object
	}
	return []page.Action{
		{Keys: []string{"enter"}, Label: enter, Help: enterHelp, Off: nothing, Do: func() tea.Cmd {
			if r.revision != nil {
				return p.details(r.id)
			}
			return p.fold(e, r, !r.folded)
		}},
		{Keys: mark, Label: "mark", Help: "Mark this revision for comparison, or unmark it: at most two of one object.", Off: noRevision, Do: func() tea.Cmd { return p.mark(r) }},
		{Keys: []string{"d"}, Label: compare, Help: "Compare the two marked revisions; with one mark or none, a revision with the object as it is.", Off: page.FirstOf(backend, compareOff), Do: func() tea.Cmd { return p.diff(e, r) }},
		{Keys: []string{"u"}, Label: "undo?", Help: "Preview a rollback to this revision: what kubectl rollout undo would change in the object. Nothing is sent; what controllers would do next is not shown.", Off: page.FirstOf(backend, noRevision), Do: func() tea.Cmd { return p.undo(e, r) }},
		{Keys: []string{"O"}, Label: "owners", Help: "Show it in the tree of owners.", Off: nothing, Do: func() tea.Cmd {
			return page.Send(page.JumpMsg{Page: page.Tree, To: page.Subject{Kind: page.OnObject, Object: target, Name: target.Name}})
		}},
		{Keys: []string{"T"}, Help: "Follow the object on the timeline.", Off: nothing, Do: func() tea.Cmd {
			return page.Send(page.JumpMsg{Page: page.Timeline, To: page.Subject{Kind: page.OnObject, Object: target, Name: target.Name}})
		}},
		{Keys: []string{"I"}, Help: "Show all details of the selected row.", Off: nothing, Do: func() tea.Cmd { return p.details(r.id) }},
		{Keys: []string{"h"}, Help: "Hide the revisions.", Off: nothing, Do: toggle(true)},
		{Keys: []string{"l"}, Help: "Show the revisions.", Off: nothing, Do: toggle(false)},
		{Keys: []string{"E"}, Help: "Show the revisions of all.", Do: func() tea.Cmd { return p.foldAll(e, false) }},
		{Keys: []string{"F"}, Help: "Hide the revisions of all.", Do: func() tea.Cmd { return p.foldAll(e, true) }},
		{Keys: []string{"r"}, Help: "Refresh.", Do: func() tea.Cmd { return p.ask(e) }},
	}
}

func (p *Page) fold(e *page.Env, r *revisionRow, fold bool) tea.Cmd {
	p.open[historyKey(r.history)] = !fold
	p.flatten(e)
	return p.askOne(e)
}

func (p *Page) foldAll(e *page.Env, fold bool) tea.Cmd {
	for i := range p.lists {
		p.open[historyKey(&p.lists[i])] = !fold
	}
	p.flatten(e)
	return nil
}

func (p *Page) details(id string) tea.Cmd {
	view := func(e *page.Env) *widget.TextView {
		return &widget.TextView{Title: "Revisions", Lines: func(w int) []widget.Line {
			at, ok := p.rows.places[id]
			if !ok {
				return []widget.Line{{widget.Warn.Of(" It is not there any more.")}}
			}
			return p.detail(e, &p.rows.rows[at], w)
		}}
	}
	return func() tea.Msg { return page.OpenMsg{View: view} }
}

// mark turns the mark of a revision. A third mark takes the place of the first;
// one on another object begins anew.
func (p *Page) mark(r *revisionRow) tea.Cmd {
	key := historyKey(r.history)
	before := len(p.marks)
	p.marks = slices.DeleteFunc(p.marks, func(m revisionMark) bool { return m.history == key && m.record == r.id })
	if len(p.marks) < before {
		return nil
	}
	p.marks = slices.DeleteFunc(p.marks, func(m revisionMark) bool { return m.history != key })
	if len(p.marks) == 2 {
		p.marks = p.marks[1:]
	}
	p.marks = append(p.marks, revisionMark{key, r.id, r.revision.Revision})
	return nil
}

// diff compares the marks, in the order of their numbers.
func (p *Page) diff(e *page.Env, r *revisionRow) tea.Cmd {
	object, from, to := r.history.Object, "", "live"
	if len(p.marks) > 0 {
		for i := range p.lists {
			if historyKey(&p.lists[i]) == p.marks[0].history {
				object = p.lists[i].Object
			}
		}
		from = fmt.Sprint(p.marks[0].revision)
		if len(p.marks) == 2 {
			a, b := p.marks[0].revision, p.marks[1].revision
			from, to = fmt.Sprint(min(a, b)), fmt.Sprint(max(a, b))
		}
	} else {
		from = fmt.Sprint(r.revision.Revision)
	}
	backend := e.Revisions
	return p.text(e, func(ctx context.Context) (revisionText, error) {
		diff, err := backend.Diff(ctx, object, from, to)
		if err != nil {
			return revisionText{}, err
		}
		var out strings.Builder
		err = render.WriteRevisionDiff(&out, diff, render.FieldsOptions{})
		return revisionText{fmt.Sprintf("%s: revision %s → %s", object, from, to), out.String()}, err
	})
}

func (p *Page) undo(e *page.Env, r *revisionRow) tea.Cmd {
	object, to, backend := r.history.Object, r.revision.Revision, e.Revisions
	return p.text(e, func(ctx context.Context) (revisionText, error) {
		undo, err := backend.Undo(ctx, object, to)
		if err != nil {
			return revisionText{}, err
		}
		var out strings.Builder
		err = render.WriteRevisionUndo(&out, undo, render.FieldsOptions{})
		return revisionText{fmt.Sprintf("Undo preview: %s to revision %d (nothing is sent; the object's change only)", object, to), out.String()}, err
	})
}

// text asks for something to be shown over the page.
func (p *Page) text(e *page.Env, question func(context.Context) (revisionText, error)) tea.Cmd {
	ctx := e.Ctx
	return page.Ask(page.Revisions, p.texts.Next(), func() (revisionText, error) { return question(ctx) })
}
