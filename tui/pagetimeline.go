package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// timelinePage is page 8: the journal, and the story of one thing in it.
type timelinePage struct {
	base
	linking
	list  widget.List
	kept  kept[state.Entry]
	scope string // a controller, or empty
	// detail is how much of the journal and of a story is shown.
	detail state.Detail
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
	lines   []plainRow
}

func newTimelinePage() page {
	p := &timelinePage{
		linking: linking{page: pageTimeline},
		detail:  state.DetailAll,
		kept:    kept[state.Entry]{seq: func(e state.Entry) uint64 { return e.Seq }},
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
func entryDetail(e state.Event) state.Detail {
	switch e := e.(type) {
	case state.KeyTaken:
		return state.DetailSyncs
	case state.KeyFinished:
		if e.Failed {
			return state.DetailWrites
		}
		return state.DetailSyncs
	case state.KeyAdded:
		if e.How == "AddRateLimited" {
			return state.DetailSyncs
		}
		return state.DetailAll
	case state.ObjectChanged, state.KeyReady, state.KeyForgotten, state.LeaseChanged, state.InformerChanged:
		return state.DetailAll
	}
	return state.DetailWrites
}

func (p *timelinePage) shows(snap *state.Snapshot, e state.Entry) bool {
	if entryDetail(e.Event) > p.detail || !p.renewals && snap.Renewal(e.Event) {
		return false
	}
	if p.scope == "" && p.filter.MatchesAll() {
		return true
	}
	d := state.DescribeParts(e.Event)
	switch e.Event.(type) {
	case state.Gap, state.Dropped:
		return true // a hole is a hole in what is filtered too
	}
	return (p.scope == "" || d.Source == p.scope) && p.filter.Matches(d.Source, d.Subject, d.Text)
}

// refresh takes over what is new. A cursor on the last entry stays on the last.
func (p *timelinePage) refresh(e *env) {
	rows := p.rows(e)
	follows := p.list.Cursor >= rows.Len()-1
	if p.kept.look(e.snap, e.snap.Recent, func(entry state.Entry) bool { return p.shows(e.snap, entry) }) && follows {
		p.list.Selected, p.list.Cursor = "", rows.Len()-1
	}
	p.list.Sync(p.rows(e))
}

func (p *timelinePage) rows(e *env) keptRows[state.Entry] {
	return keptRows[state.Entry]{&p.kept, false, func(entry state.Entry) []widget.Cell { return entryCells(e, entry) }}
}

// across fills the rest of a row.
var across = strings.Repeat("─", 300)

func entryCells(e *env, entry state.Entry) []widget.Cell {
	d := state.DescribeParts(entry.Event)
	at, source := widget.Word(e.clock(entry.At), widget.Dim), widget.Plain(render.ShortName(d.Source))
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
				of = append(of, widget.StyleIf(event.Result == state.WriteFailed || event.Result == state.WriteRefused, widget.Bad).Of(wroteOnce(event)))
			}
			return []widget.Cell{at, source, toldSpans(event, of)}
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

func detailWord(d state.Detail) string {
	switch d {
	case state.DetailWrites:
		return "writes only"
	case state.DetailSyncs:
		return "writes and syncs"
	}
	return "everything"
}

func (p *timelinePage) title(e *env) string {
	if p.story != nil {
		return p.story.title(detailWord(p.detail))
	}
	text := fmt.Sprintf("Timeline: %d entries, %s", p.rows(e).Len(), detailWord(p.detail))
	if !p.renewals && p.detail == state.DetailAll {
		text += " but renewals of leases"
	}
	if p.scope != "" {
		text += ", of " + p.scope
	}
	if gone := e.snap.Recent.Evicted(); gone > 0 {
		text += fmt.Sprintf("; %d older ones are no longer kept", gone)
	}
	return text
}

func (p *timelinePage) current(e *env) (state.Entry, bool) { return p.rows(e).at(p.list) }

func (p *timelinePage) update(msg tea.Msg, e *env) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		p.shown = true
	case hiddenMsg:
		p.shown = false
	case sizeMsg:
		p.wide, p.height = msg.w >= widget.Wide, msg.h
		p.list.Resize(msg.h)
	default:
		if p.linked(msg) && p.story != nil {
			p.story.tell(p.links, p.detail)
		}
	}
	if p.story != nil {
		p.story.list.Resize(p.height)
		p.story.list.Sync(p.story.rows(e))
	} else if p.shown {
		p.refresh(e)
	}
	if p.shown && (p.wide || p.story != nil) {
		return p.want(e, msg)
	}
	return nil
}

func (p *timelinePage) key(key string, e *env) bool {
	if p.story != nil {
		return p.story.list.Key(p.story.rows(e), key)
	}
	return p.list.Key(p.rows(e), key)
}

func (p *timelinePage) view(e *env, w, h int) []string {
	if p.story != nil {
		rows := p.story.rows(e)
		return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.story.list.View(e.Theme, rows, w, h, p.story.empty()) },
			func(w int) []widget.Line {
				if r := p.story.current(e); r != nil && r.branch != nil {
					return hopDetail(e, r.branch.First(), w)
				}
				return nil
			})
	}
	rows := p.rows(e)
	empty := "Nothing has been observed yet."
	if p.filter.Text != "" || p.scope != "" {
		empty = "Nothing is left of the filter; esc shows all."
	}
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, empty) },
		func(w int) []widget.Line {
			entry, ok := p.current(e)
			if !ok {
				return nil
			}
			return entryDetailLines(e, entry, p.hop(entry.Seq), w)
		})
}

func (p *timelinePage) under(e *env) subject {
	if p.story != nil {
		if r := p.story.current(e); r != nil && r.branch != nil {
			return hopSubject(r.branch.First())
		}
		return subject{}
	}
	entry, ok := p.current(e)
	if !ok {
		return subject{}
	}
	return eventSubject(entry.Event, entry.Seq)
}

func hopSubject(h *state.Hop) subject {
	s := eventSubject(h.Event, h.Seq)
	if h.Parent != nil && !h.Link.Sure() && h.Link != state.LinkAbout {
		s.explain = "supposed"
	}
	return s
}

func (p *timelinePage) filtering() *filtering {
	if p.story != nil {
		return &filtering{current: p.story.filter, set: func(f widget.Filter) {
			p.story.filter = f
			p.story.draw()
		}}
	}
	return &filtering{current: p.filter, set: func(f widget.Filter) {
		p.filter = f
		p.kept.again()
	}}
}

func (p *timelinePage) back() bool {
	switch {
	case p.story != nil && p.story.filter.Text != "":
		return false // the root takes the filter away
	case p.story != nil:
		p.story = nil
		return true
	case p.scope != "":
		p.scope = ""
		p.kept.again()
		return true
	}
	return false
}

func (p *timelinePage) setDetail(d state.Detail) {
	p.detail = d
	p.kept.again()
	if p.story != nil {
		p.story.tell(p.links, d)
	}
}

// follow tells the story of a subject.
func (p *timelinePage) follow(s subject, e *env) tea.Cmd {
	p.story = newStory(s)
	if p.links != nil {
		p.story.tell(p.links, p.detail)
	}
	p.of = nil // what was linked before may not know it yet
	return p.want(e, nil)
}

func (p *timelinePage) focus(s subject, e *env) (tea.Cmd, bool) {
	switch {
	case s.kind == onController && s.controller != "":
		p.story, p.scope, p.filter = nil, s.controller, widget.Filter{}
		p.kept.again()
		p.list.Selected, p.list.Cursor = "", 1<<30
		p.refresh(e)
		return nil, true
	case s.kind == onEvent && s.seq != 0:
		p.story, p.scope, p.filter, p.detail = nil, "", widget.Filter{}, state.DetailAll
		p.kept.again()
		p.refresh(e)
		rows := p.rows(e)
		if rows.Find(entryID(s.seq)) < 0 && !p.renewals {
			p.renewals = true
			p.kept.again()
			p.refresh(e)
			rows = p.rows(e)
		}
		if at := rows.Find(entryID(s.seq)); at >= 0 {
			p.list.To(rows, at)
		}
		return nil, true
	case s.kind == onWrite && s.seq != 0, s.kind == onKey && s.key != "",
		(s.kind == onObject || s.kind == onRevision || s.kind == onLease) && s.object.Resource != "":
		if s.kind == onKey {
			s.seq = 0
		}
		return p.follow(s, e), true
	}
	return nil, false
}

// plain gives the journal's lines, as run prints them.
func (p *timelinePage) plain(e *env) []plainRow {
	if p.printer == nil || e.snap.Seq < p.printed {
		p.printer, p.printed, p.lines = render.NewJournal(render.JournalOptions{Verbosity: render.Everything, Location: e.Location}), 0, nil
	}
	var fresh []state.Entry
	for entry := range e.snap.Recent.Backward() {
		if entry.Seq <= p.printed {
			break
		}
		fresh = append(fresh, entry)
	}
	for i := len(fresh) - 1; i >= 0; i-- {
		for _, text := range p.printer.Lines(fresh[i]) {
			p.lines = append(p.lines, plainRow{id: entryID(fresh[i].Seq), text: text, history: true})
		}
	}
	p.printed = e.snap.Seq
	p.lines = p.lines[max(len(p.lines)-e.snap.Limits.Recent, 0):]
	return p.lines
}
