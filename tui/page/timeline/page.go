// Package timeline is page 8: the journal in its order, and the story of one thing in it.
package timeline

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/detail"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
)

// Page is page 8: the journal, and the story of one thing in it.
type Page struct {
	page.Base
	page.Linking
	list  widget.List
	kept  page.Kept[state.Entry]
	scope string // a controller, or empty
	// detail is how much of the journal and of a story is shown.
	detail causality.Detail
	// renewals: what is nothing but the renewal of a lease is shown too.
	renewals bool
	// story is what is followed; nil while the journal is shown.
	story *story
	wide  bool
	shown bool
	// height is that of the page.
	height int

	// lines are the journal's for plain, made by printer as entries come.
	printer *render.Journal
	printed uint64
	lines   []page.Row
}

// New makes the page.
func New() page.Page {
	p := &Page{
		Linking: page.Linking{Page: page.Timeline},
		detail:  causality.DetailAll,
		kept:    page.Kept[state.Entry]{Seq: func(e state.Entry) uint64 { return e.Seq }},
		list: widget.List{Columns: []widget.Column{
			{Title: "TIME", Min: 12},
			{Title: "SOURCE", Max: 16, Min: 10},
			{Title: "WHAT", Grow: true, Min: 30},
		}},
	}
	p.list.Cursor = 1 << 30 // the journal's end
	return p
}

// entryDetail is the detail from which on an entry is shown.
func entryDetail(e state.Event) causality.Detail {
	switch e := e.(type) {
	case state.KeyTaken:
		return causality.DetailSyncs
	case state.KeyFinished:
		if e.Failed {
			return causality.DetailWrites
		}
		return causality.DetailSyncs
	case state.KeyAdded:
		if e.How == "AddRateLimited" {
			return causality.DetailSyncs
		}
		return causality.DetailAll
	case state.ObjectChanged, state.KeyReady, state.KeyForgotten, state.LeaseChanged, state.InformerChanged:
		return causality.DetailAll
	}
	return causality.DetailWrites
}

func (p *Page) shows(env *page.Env, e state.Entry) bool {
	if entryDetail(e.Event) > p.detail || !p.renewals && env.Snap.Renewal(e.Event) {
		return false
	}
	if p.scope == "" && p.Filter.MatchesAll() {
		return true
	}
	d := state.DescribeParts(e.Event)
	switch e.Event.(type) {
	case state.Gap, state.Dropped:
		return true // a hole is a hole in what is filtered too
	}
	return (p.scope == "" || d.Source == p.scope) && p.Filter.MatchesRow(p.list.Columns, entryCells(env, e), d.Source, d.Subject, d.Text)
}

// refresh takes over what is new. A cursor on the last entry stays on the last.
func (p *Page) refresh(e *page.Env) {
	rows := p.rows(e)
	follows := p.list.Cursor >= rows.Len()-1
	if p.kept.Look(e.Snap, e.Snap.Recent, func(entry state.Entry) bool { return p.shows(e, entry) }) && follows {
		p.list.Selected, p.list.Cursor = "", rows.Len()-1
	}
	p.list.Sync(p.rows(e))
}

func (p *Page) rows(e *page.Env) page.KeptRows[state.Entry] {
	return page.KeptRows[state.Entry]{Kept: &p.kept, NewestFirst: false, CellsOf: func(entry state.Entry) []widget.Cell { return entryCells(e, entry) }}
}

// across fills the rest of a row.
var across = strings.Repeat("─", 300)

func entryCells(e *page.Env, entry state.Entry) []widget.Cell {
	d := state.DescribeParts(entry.Event)
	at, source := widget.Word(e.Clock(entry.At), widget.Dim), widget.Plain(render.ShortName(d.Source))
	switch event := entry.Event.(type) {
	case state.Gap:
		return []widget.Cell{at, widget.Word("── "+d.Subject+" "+across, widget.Warn), widget.Word(d.Text+" "+across, widget.Warn)}
	case state.Dropped:
		return []widget.Cell{at, widget.Word(across, widget.Warn), widget.Word(d.Text+" "+across, widget.Warn)}
	case state.Note:
		return []widget.Cell{at, source, widget.Word(d.Text, widget.StyleIf(event.Warning, widget.Warn))}
	case state.WriteFinished:
		if about, ok := event.About(); ok {
			of := widget.Cell{widget.Text.Of(" of " + about.Type() + " " + about.Key())}
			if event.Result != state.WriteDone {
				of = append(of, widget.StyleIf(event.Result == state.WriteFailed || event.Result == state.WriteRefused, widget.Bad).Of(detail.WroteOnce(event)))
			}
			return []widget.Cell{at, source, detail.ToldSpans(event, of)}
		}
		what := widget.Cell{widget.Dim.Of("write "), widget.StyleIf(event.Result == state.WriteFailed || event.Result == state.WriteRefused, widget.Bad).Of(d.Text)}
		if d.Subject != "" {
			what = append(what, widget.Dim.Of(" ← sync of "+d.Subject))
		} else if event.Cause.Kind != "" {
			what = append(what, widget.Dim.Of(" ← "+event.Cause.String()))
		}
		return []widget.Cell{at, source, what}
	case state.KeyFinished:
		return []widget.Cell{at, source, {widget.Bold.Of(d.Subject), widget.BadIf(event.Failed).Of(" " + d.Text)}}
	case state.ObjectChanged:
		return []widget.Cell{at, widget.Word("event", widget.Accent), {widget.Text.Of(d.Subject), widget.Dim.Of(" " + d.Text)}}
	case state.KeyAdded, state.KeyReady, state.KeyForgotten:
		return []widget.Cell{at, source, {widget.Text.Of(d.Subject), widget.Dim.Of(" " + d.Text)}}
	}
	what := widget.Cell{widget.Text.Of(d.Text)}
	if d.Subject != "" {
		what = widget.Cell{widget.Bold.Of(d.Subject), widget.Text.Of(" " + d.Text)}
	}
	return []widget.Cell{at, source, what}
}

func detailWord(d causality.Detail) string {
	switch d {
	case causality.DetailWrites:
		return "writes only"
	case causality.DetailSyncs:
		return "writes and syncs"
	}
	return "everything"
}

func (p *Page) Title(e *page.Env) string {
	if p.story != nil {
		return p.story.title(detailWord(p.detail))
	}
	text := fmt.Sprintf("Timeline: %d entries, %s", p.rows(e).Len(), detailWord(p.detail))
	if !p.renewals && p.detail == causality.DetailAll {
		text += " but renewals of leases"
	}
	if p.scope != "" {
		text += ", of " + p.scope
	}
	if gone := e.Snap.Recent.Evicted(); gone > 0 {
		text += fmt.Sprintf("; %d older ones are no longer kept", gone)
	}
	return text
}

func (p *Page) current(e *page.Env) (state.Entry, bool) { return p.rows(e).At(p.list) }

func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case page.ShownMsg:
		p.shown = true
	case page.HiddenMsg:
		p.shown = false
		p.Stay()
	case page.FilteredMsg: // a journal is read from its end
		p.list.Selected, p.list.Cursor = "", 1<<30
	case page.SizeMsg:
		p.wide, p.height = msg.W >= widget.Wide, msg.H
		p.list.Resize(msg.H)
	default:
		if p.Linked(msg) && p.story != nil {
			p.story.tell(p.Links, p.detail)
		}
	}
	if p.story != nil {
		p.story.list.Resize(p.height)
		p.story.list.Sync(p.story.rows(e))
	} else if p.shown {
		p.refresh(e)
	}
	if p.shown && (p.wide || p.story != nil) {
		return p.Want(e, msg)
	}
	return nil
}

func (p *Page) Key(key string, e *page.Env) bool {
	if p.story != nil {
		return p.story.list.Key(p.story.rows(e), key)
	}
	return p.list.Key(p.rows(e), key)
}

func (p *Page) View(e *page.Env, w, h int) []string {
	if p.story != nil {
		rows := p.story.rows(e)
		return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.story.list.View(e.Theme, rows, w, h, p.story.empty()) },
			func(w int) []widget.Line {
				if r := p.story.current(e); r != nil && r.branch != nil {
					return detail.HopDetail(e, r.branch.First(), w)
				}
				return nil
			})
	}
	rows := p.rows(e)
	empty := "Nothing has been observed yet."
	switch {
	case p.Filter.Text != "":
		empty = page.NoMatch("entries", p.Filter)
	case p.scope != "":
		empty = "The journal has no entry of it; esc shows all entries."
	}
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, empty) },
		func(w int) []widget.Line {
			entry, ok := p.current(e)
			if !ok {
				return nil
			}
			return detail.EntryDetailLines(e, entry, p.Hop(entry.Seq), w)
		})
}

// Place says which rows are visible.
func (p *Page) Place(e *page.Env) string {
	if p.story != nil {
		return p.story.list.Place(p.story.rows(e))
	}
	return p.list.Place(p.rows(e))
}

func (p *Page) Under(e *page.Env) page.Subject {
	if p.story != nil {
		if r := p.story.current(e); r != nil && r.branch != nil {
			return hopSubject(r.branch.First())
		}
		return page.Subject{}
	}
	entry, ok := p.current(e)
	if !ok {
		return page.Subject{}
	}
	return detail.EventSubject(entry.Event, entry.Seq)
}

func hopSubject(h *causality.Hop) page.Subject {
	s := detail.EventSubject(h.Event, h.Seq)
	if h.Parent != nil && !h.Link.Sure() && h.Link != causality.LinkAbout {
		s.Explain = "supposed"
	}
	return s
}

func (p *Page) Filtering() *page.Filtering {
	if p.story != nil {
		return &page.Filtering{Current: p.story.filter, Set: func(f widget.Filter) {
			p.story.filter = f
			p.story.draw()
		}}
	}
	return &page.Filtering{Current: p.Filter, Set: func(f widget.Filter) {
		p.Filter = f
		p.kept.Again()
	}}
}

func (p *Page) Back() bool {
	switch {
	case p.story != nil && p.story.filter.Text != "":
		return false // the root takes the filter away
	}
	if leaves, undo := p.Leave(); leaves {
		if undo {
			p.story, p.scope = nil, ""
			p.kept.Again()
		}
		return false
	}
	switch {
	case p.story != nil:
		p.story = nil
		return true
	case p.scope != "":
		p.scope = ""
		p.kept.Again()
		return true
	}
	return false
}

func (p *Page) setDetail(d causality.Detail) {
	p.detail = d
	p.kept.Again()
	if p.story != nil {
		p.story.tell(p.Links, d)
	}
}

// follow tells the story of a subject.
func (p *Page) follow(s page.Subject, e *page.Env) tea.Cmd {
	p.story = newStory(s)
	if p.Links != nil {
		p.story.tell(p.Links, p.detail)
	}
	p.Of = nil // what was linked before may not know it yet
	return p.Want(e, nil)
}

func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	shown := p.shown
	cmd, ok := p.goTo(s, e)
	if ok {
		p.Arrive(shown)
	}
	return cmd, ok
}

func (p *Page) goTo(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	switch {
	case s.Kind == page.OnController && s.Controller != "":
		p.story, p.scope, p.Filter = nil, s.Controller, widget.Filter{}
		p.kept.Again()
		p.list.Selected, p.list.Cursor = "", 1<<30
		p.refresh(e)
		return nil, true
	case s.Kind == page.OnEvent && s.Seq != 0:
		p.story, p.scope, p.Filter, p.detail = nil, "", widget.Filter{}, causality.DetailAll
		p.kept.Again()
		p.refresh(e)
		rows := p.rows(e)
		if rows.Find(page.EntryID(s.Seq)) < 0 && !p.renewals {
			p.renewals = true
			p.kept.Again()
			p.refresh(e)
			rows = p.rows(e)
		}
		if at := rows.Find(page.EntryID(s.Seq)); at >= 0 {
			p.list.To(rows, at)
		}
		return nil, true
	case s.Kind == page.OnWrite && s.Seq != 0, s.Kind == page.OnKey && s.Key != "",
		(s.Kind == page.OnObject || s.Kind == page.OnRevision || s.Kind == page.OnLease) && s.Object.Resource != "":
		if s.Kind == page.OnKey {
			s.Seq = 0
		}
		return p.follow(s, e), true
	}
	return nil, false
}

// Plain gives the journal's lines, as run prints them.
func (p *Page) Plain(e *page.Env) []page.Row {
	if p.printer == nil || e.Snap.Seq < p.printed {
		p.printer, p.printed, p.lines = render.NewJournal(render.JournalOptions{Verbosity: render.Everything, Location: e.Location}), 0, nil
	}
	var fresh []state.Entry
	for entry := range e.Snap.Recent.Backward() {
		if entry.Seq <= p.printed {
			break
		}
		fresh = append(fresh, entry)
	}
	for i := len(fresh) - 1; i >= 0; i-- {
		for _, text := range p.printer.Lines(fresh[i]) {
			p.lines = append(p.lines, page.Row{ID: page.EntryID(fresh[i].Seq), Text: text, History: true})
		}
	}
	p.printed = e.Snap.Seq
	p.lines = p.lines[max(len(p.lines)-e.Snap.Limits.Recent, 0):]
	return p.lines
}
