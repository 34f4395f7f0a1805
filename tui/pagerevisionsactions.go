package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func (p *revisionsPage) actions(e *env) []action {
	r := p.current()
	nothing, noRevision := "", ""
	switch {
	case r == nil:
		nothing = errNothing.Error()
		noRevision, r = nothing, &revisionRow{history: &state.RevisionList{}}
	case r.revision == nil:
		noRevision = "the cursor is on no revision"
	}
	backend := e.without(e.Revisions != nil)
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
	return []action{
		{keys: []string{"enter"}, label: enter, help: enterHelp, off: nothing, do: func() tea.Cmd {
			if r.revision != nil {
				return p.details(r.id)
			}
			return p.fold(e, r, !r.folded)
		}},
		{keys: mark, label: "mark", help: "Mark this revision for a comparison, or take the mark away: two of one object at most.", off: noRevision, do: func() tea.Cmd { return p.mark(r) }},
		{keys: []string{"d"}, label: compare, help: "Compare the two marked revisions; with one mark or none, a revision with the object as it is.", off: firstOf(backend, compareOff), do: func() tea.Cmd { return p.diff(e, r) }},
		{keys: []string{"u"}, label: "undo?", help: "Preview a rollback to this revision: what kubectl rollout undo would change in the object. Nothing is sent, and what loops would do then is not shown.", off: firstOf(backend, noRevision), do: func() tea.Cmd { return p.undo(e, r) }},
		{keys: []string{"O"}, label: "owners", help: "Show it in the tree of owners.", off: nothing, do: func() tea.Cmd {
			return send(jumpMsg{pageTree, subject{kind: onObject, object: target, name: target.Name}})
		}},
		{keys: []string{"T"}, help: "Follow the object on the timeline.", off: nothing, do: func() tea.Cmd {
			return send(jumpMsg{pageTimeline, subject{kind: onObject, object: target, name: target.Name}})
		}},
		{keys: []string{"I"}, help: "Show all that is known of what the cursor is on.", off: nothing, do: func() tea.Cmd { return p.details(r.id) }},
		{keys: []string{"h"}, help: "Hide the revisions.", off: nothing, do: toggle(true)},
		{keys: []string{"l"}, help: "Show the revisions.", off: nothing, do: toggle(false)},
		{keys: []string{"E"}, help: "Show the revisions of all.", do: func() tea.Cmd { return p.foldAll(e, false) }},
		{keys: []string{"F"}, help: "Hide the revisions of all.", do: func() tea.Cmd { return p.foldAll(e, true) }},
		{keys: []string{"r"}, help: "Ask again now.", do: func() tea.Cmd { return p.ask(e) }},
	}
}

func (p *revisionsPage) fold(e *env, r *revisionRow, fold bool) tea.Cmd {
	p.open[historyKey(r.history)] = !fold
	p.flatten(e)
	return p.askOne(e)
}

func (p *revisionsPage) foldAll(e *env, fold bool) tea.Cmd {
	for i := range p.lists {
		p.open[historyKey(&p.lists[i])] = !fold
	}
	p.flatten(e)
	return nil
}

func (p *revisionsPage) details(id string) tea.Cmd {
	view := func(e *env) *widget.TextView {
		return &widget.TextView{Title: "Revisions", Lines: func(w int) []widget.Line {
			at, ok := p.rows.places[id]
			if !ok {
				return []widget.Line{{widget.Warn.Of(" It is not there any more.")}}
			}
			return p.detail(e, &p.rows.rows[at], w)
		}}
	}
	return func() tea.Msg { return openMsg{view} }
}

// mark turns the mark of a revision. A third mark takes the place of the first;
// one on another object begins anew.
func (p *revisionsPage) mark(r *revisionRow) tea.Cmd {
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
func (p *revisionsPage) diff(e *env, r *revisionRow) tea.Cmd {
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

func (p *revisionsPage) undo(e *env, r *revisionRow) tea.Cmd {
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
func (p *revisionsPage) text(e *env, question func(context.Context) (revisionText, error)) tea.Cmd {
	ctx := e.ctx
	return ask(pageRevisions, p.texts.next(), func() (revisionText, error) { return question(ctx) })
}
