package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func (p *timelinePage) actions(e *env) []action {
	under := p.under(e)
	nothing := ""
	if under.kind == onNothing {
		nothing = errNothing.Error()
	}
	var out []action
	if p.story != nil {
		out = p.storyActions(e, nothing)
	} else {
		out = p.journalActions(e, under, nothing)
	}
	less, more := "", ""
	if p.detail == state.DetailWrites {
		less = "only writes are shown already"
	}
	if p.detail == state.DetailAll {
		more = "everything is shown already"
	}
	out = append(out,
		action{keys: []string{"<"}, label: "less", help: "Zoom out: leave out additions and events, then syncs.", off: less, do: func() tea.Cmd { p.setDetail(p.detail - 1); return nil }},
		action{keys: []string{">"}, label: "more", help: "Zoom in: show syncs, then additions to queues and events.", off: more, do: func() tea.Cmd { p.setDetail(p.detail + 1); return nil }},
	)
	if p.story == nil {
		out = append(out, action{keys: []string{"H"}, help: "Show renewals of leases and the keys added for them, or hide them.", do: func() tea.Cmd {
			p.renewals = !p.renewals
			p.kept.again()
			return nil
		}})
	}
	return append(out, jumps(under, nothing, pageTimeline)...)
}

func (p *timelinePage) journalActions(e *env, under subject, nothing string) []action {
	noHop, noObject := nothing, nothing
	switch under.kind {
	case onKey, onWrite, onObject:
	default:
		noHop = firstOf(nothing, "nothing follows from it")
	}
	if under.object.Resource == "" || under.object.Name == "" {
		noObject = firstOf(nothing, "it is about no single object")
	}
	entry := under
	entry.kind = onEvent
	return []action{
		{keys: []string{"enter"}, label: "follow", help: "Show what led to this entry and what followed from it.", off: noHop, do: func() tea.Cmd { return p.follow(entry, e) }},
		{keys: []string{"o"}, label: "object", help: "Follow its object through all that happened to it.", off: noObject, do: func() tea.Cmd {
			return p.follow(subject{kind: onObject, object: under.object, name: under.object.Name}, e)
		}},
	}
}

func (p *timelinePage) storyActions(e *env, nothing string) []action {
	row := p.story.current(e)
	label, help := "details", "Show all that is known of it."
	do := func() tea.Cmd {
		hop := row.branch.First()
		return send(openMsg{func(e *env) *widget.TextView {
			return &widget.TextView{Title: string(hop.Kind), Lines: func(w int) []widget.Line { return hopDetail(e, hop, w) }}
		}})
	}
	if row != nil && row.branch != nil {
		switch id := row.branch.Together; {
		case len(row.branch.Hops) > 1:
			label, help = "apart", "Show each of these by itself."
			do = func() tea.Cmd { p.story.split(id, true, p.detail); return nil }
		case id != "":
			label, help = "together", "Put those that are like it together again."
			do = func() tea.Cmd { p.story.split(id, false, p.detail); return nil }
		}
	}
	details := action{keys: []string{"d"}, help: "Show all that is known of it.", off: nothing, do: func() tea.Cmd {
		hop := row.branch.First()
		return send(openMsg{func(e *env) *widget.TextView {
			return &widget.TextView{Title: string(hop.Kind), Lines: func(w int) []widget.Line { return hopDetail(e, hop, w) }}
		}})
	}}
	object, noObject := state.Ref{}, nothing
	if nothing == "" {
		object = hopSubject(row.branch.First()).object
	}
	if object.Resource == "" || object.Name == "" {
		noObject = firstOf(nothing, "it is about no single object")
	}
	return []action{
		{keys: []string{"enter"}, label: label, help: help, off: nothing, do: do},
		details,
		{keys: []string{"o"}, label: "object", help: "Follow its object instead.", off: noObject, do: func() tea.Cmd {
			return p.follow(subject{kind: onObject, object: object, name: object.Name}, e)
		}},
	}
}
