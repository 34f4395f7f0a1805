package timeline

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/detail"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
)

func (p *Page) Actions(e *page.Env) []page.Action {
	under := p.Under(e)
	nothing := ""
	if under.Kind == page.OnNothing {
		nothing = page.ErrNothing.Error()
	}
	var out []page.Action
	if p.story != nil {
		out = p.storyActions(e, nothing)
	} else {
		out = p.journalActions(e, under, nothing)
	}
	less, more := "", ""
	if p.detail == causality.DetailWrites {
		less = "only writes are shown already"
	}
	if p.detail == causality.DetailAll {
		more = "everything is shown already"
	}
	out = append(out,
		page.Action{Keys: []string{"<"}, Label: "less", Help: "Zoom out: hide added keys and events, then syncs.", Off: less, Do: func() tea.Cmd { p.setDetail(p.detail - 1); return nil }},
		page.Action{Keys: []string{">"}, Label: "more", Help: "Zoom in: show syncs, then added keys and events.", Off: more, Do: func() tea.Cmd { p.setDetail(p.detail + 1); return nil }},
	)
	if p.story == nil {
		out = append(out, page.Action{Keys: []string{"H"}, Help: "Show renewals of leases and the keys added for them, or hide them.", Do: func() tea.Cmd {
			p.renewals = !p.renewals
			p.kept.Again()
			return nil
		}})
	}
	return append(out, page.Jumps(under, nothing, page.Timeline)...)
}

func (p *Page) journalActions(e *page.Env, under page.Subject, nothing string) []page.Action {
	noHop, noObject := nothing, nothing
	switch under.Kind {
	case page.OnKey, page.OnWrite, page.OnObject:
	default:
		noHop = page.FirstOf(nothing, "nothing follows from it")
	}
	if under.Object.Resource == "" || under.Object.Name == "" {
		noObject = page.FirstOf(nothing, "it is not about a single object")
	}
	entry := under
	entry.Kind = page.OnEvent
	return []page.Action{
		{Keys: []string{"enter"}, Label: "follow", Help: "Show what led to this entry and what followed from it.", Off: noHop, Do: func() tea.Cmd { return p.follow(entry, e) }},
		{Keys: []string{"o"}, Label: "object", Help: "Follow its object through all that happened to it.", Off: noObject, Do: func() tea.Cmd {
			return p.follow(page.Subject{Kind: page.OnObject, Object: under.Object, Name: under.Object.Name}, e)
		}},
	}
}

func (p *Page) storyActions(e *page.Env, nothing string) []page.Action {
	row := p.story.current(e)
	label, help := "details", "Show all details."
	do := func() tea.Cmd {
		hop := row.branch.First()
		return page.Send(page.OpenMsg{View: func(e *page.Env) *widget.TextView {
			return &widget.TextView{Title: string(hop.Kind), Lines: func(w int) []widget.Line { return detail.HopDetail(e, hop, w) }}
		}})
	}
	if row != nil && row.branch != nil {
		switch id := row.branch.Together; {
		case len(row.branch.Hops) > 1:
			label, help = "apart", "Show each entry separately."
			do = func() tea.Cmd { p.story.split(id, true, p.detail); return nil }
		case id != "":
			label, help = "together", "Group similar entries again."
			do = func() tea.Cmd { p.story.split(id, false, p.detail); return nil }
		}
	}
	details := page.Action{Keys: []string{"d"}, Help: "Show all details.", Off: nothing, Do: func() tea.Cmd {
		hop := row.branch.First()
		return page.Send(page.OpenMsg{View: func(e *page.Env) *widget.TextView {
			return &widget.TextView{Title: string(hop.Kind), Lines: func(w int) []widget.Line { return detail.HopDetail(e, hop, w) }}
		}})
	}}
	object, noObject := state.Ref{}, nothing
	if nothing == "" {
		object = hopSubject(row.branch.First()).Object
	}
	if object.Resource == "" || object.Name == "" {
		noObject = page.FirstOf(nothing, "it is not about a single object")
	}
	return []page.Action{
		{Keys: []string{"enter"}, Label: label, Help: help, Off: nothing, Do: do},
		details,
		{Keys: []string{"o"}, Label: "object", Help: "Follow its object instead.", Off: noObject, Do: func() tea.Cmd {
			return p.follow(page.Subject{Kind: page.OnObject, Object: object, Name: object.Name}, e)
		}},
	}
}
