// Package writes is page 4: the requests by which something was to change.
package writes

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/detail"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
)

// Page is page 4: the ledger.
type Page struct {
	page.Base
	page.Linking
	list  widget.List
	kept  page.Kept[*state.Write]
	scope page.Subject
	// beats: the heartbeats of nodes are shown too.
	beats bool
	wide  bool
	shown bool
}

// New makes the page.
func New() page.Page {
	return &Page{
		Linking: page.Linking{Page: page.Writes},
		kept:    page.Kept[*state.Write]{Seq: func(w *state.Write) uint64 { return w.Seq }},
		list: widget.List{Columns: []widget.Column{
			{Title: "TIME", Min: 12, Drop: 3},
			{Title: "CONTROLLER", Max: 24, Grow: true, Min: 11},
			{Title: "KEY", Max: 40, Grow: true, Min: 8, Drop: 1, Ends: true},
			{Title: "VERB", Min: 6},
			{Title: "OBJECT", Grow: true, Min: 20, Ends: true},
			{Title: "RESULT", Min: 7},
			{Title: "STATUS", Right: true},
			{Title: "TOOK", Right: true, Min: 6, Drop: 2},
		}},
	}
}

func (p *Page) shows(e *page.Env, w *state.Write) bool {
	s := p.scope
	switch {
	case !p.beats && w.Heartbeat(),
		s.Controller != "" && w.Controller != s.Controller,
		s.Key != "" && w.Cause.Key != s.Key,
		s.Queue != "" && w.Cause.Queue != s.Queue,
		s.Object.Resource != "" && !w.Object.Same(s.Object):
		return false
	case p.Filter.MatchesAll():
		return true
	}
	return p.Filter.MatchesRow(p.list.Columns, writeCells(e, w), w.Controller, w.Object.Type(), w.Message)
}

// refresh takes over what is new. A cursor on the newest write stays on the newest.
func (p *Page) refresh(e *page.Env) {
	follows := p.list.Cursor == 0
	if p.kept.Look(e.Snap, e.Snap.Writes, func(w *state.Write) bool { return p.shows(e, w) }) && follows {
		p.list.Selected, p.list.Top = "", 0
	}
	p.list.Sync(p.rows(e))
}

func (p *Page) rows(e *page.Env) page.KeptRows[*state.Write] {
	return page.KeptRows[*state.Write]{Kept: &p.kept, NewestFirst: true, CellsOf: func(w *state.Write) []widget.Cell { return writeCells(e, w) }}
}

func writeCells(e *page.Env, w *state.Write) []widget.Cell {
	return []widget.Cell{
		widget.Word(e.Clock(w.At), widget.Dim),
		widget.Plain(render.ShortName(w.Controller)),
		widget.Word(w.Cause.Key, widget.Dim),
		widget.Word(w.Verb, detail.VerbStyle(w.Verb)),
		widget.Plain(detail.WriteObject(w.WriteFinished)),
		widget.Word(detail.ResultWord(w.WriteFinished), detail.ResultStyle(w.Result)),
		widget.Word(detail.StatusCode(w.Status), widget.BadIf(w.Status >= 400)),
		widget.Plain(widget.DurationOf(w.Duration)),
	}
}

func (p *Page) Title(e *page.Env) string {
	text := fmt.Sprintf("Writes: %d", p.rows(e).Len())
	if s := page.ScopeName(p.scope); s != "" {
		text += " of " + s
	}
	if !p.beats {
		text += ", without heartbeats"
	}
	if gone := e.Snap.Writes.Evicted(); gone > 0 {
		text += fmt.Sprintf("; %d older ones are no longer kept", gone)
	}
	return text
}

func (p *Page) current(e *page.Env) *state.Write {
	w, _ := p.rows(e).At(p.list)
	return w
}

func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case page.ShownMsg:
		p.shown = true
	case page.HiddenMsg:
		p.shown = false
		p.Stay()
	case page.FilteredMsg:
		p.list.ToTop()
	case page.SizeMsg:
		p.wide = msg.W >= widget.Wide
		p.list.Resize(msg.H)
	default:
		p.Linked(msg)
	}
	if !p.shown {
		return nil
	}
	p.refresh(e)
	if p.wide {
		return p.Want(e, msg)
	}
	return nil
}

func (p *Page) Key(key string, e *page.Env) bool { return p.list.Key(p.rows(e), key) }

func (p *Page) View(e *page.Env, w, h int) []string {
	rows := p.rows(e)
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, p.empty()) },
		func(w int) []widget.Line {
			if c := p.current(e); c != nil {
				return detail.WriteDetail(e, c, p.Hop(c.Seq), w)
			}
			return nil
		})
}

func (p *Page) empty() string {
	switch {
	case p.Filter.Text != "":
		return page.NoMatch("writes", p.Filter)
	case p.scope.Kind != page.OnNothing:
		return "Nothing has been written for it; esc shows all writes."
	}
	return "Nothing has been written yet."
}

// Place says which rows are visible.
func (p *Page) Place(e *page.Env) string {
	return p.list.Place(p.rows(e))
}

func (p *Page) Under(e *page.Env) page.Subject {
	w := p.current(e)
	if w == nil {
		return page.Subject{}
	}
	return detail.WriteSubject(w.WriteFinished, w.Seq)
}

func (p *Page) Actions(e *page.Env) []page.Action {
	w := p.current(e)
	nothing := ""
	if w == nil {
		nothing, w = page.ErrNothing.Error(), &state.Write{}
	}
	under := p.Under(e)
	beats, help := "heartbeats", "Show the heartbeats of nodes too."
	if p.beats {
		beats, help = "no heartbeats", "Hide the heartbeats of nodes."
	}
	out := []page.Action{
		{Keys: []string{"enter"}, Label: "details", Help: "Show the fields that it changes, its answer, and its cause.", Off: nothing, Do: func() tea.Cmd { return openWrite(e, w) }},
		{Keys: []string{"H"}, Label: beats, Help: help, Do: func() tea.Cmd {
			p.beats = !p.beats
			p.kept.Again()
			return nil
		}},
	}
	return append(out, page.Jumps(under, nothing, page.Writes)...)
}

// openWrite links the snapshot first, to show what is behind a write.
func openWrite(e *page.Env, w *state.Write) tea.Cmd {
	snap := e.Snap
	return func() tea.Msg {
		hop := causality.Link(snap).Hop(w.Seq)
		return page.OpenMsg{View: func(e *page.Env) *widget.TextView {
			return &widget.TextView{
				Title: "Write " + w.Verb + " " + detail.WriteObject(w.WriteFinished), Copy: detail.WriteText(w.WriteFinished),
				Lines: func(width int) []widget.Line { return detail.WriteDetail(e, w, hop, width) },
			}
		}}
	}
}

func (p *Page) Filtering() *page.Filtering {
	return &page.Filtering{Current: p.Filter, Set: func(f widget.Filter) {
		p.Filter = f
		p.kept.Again()
	}}
}

func (p *Page) Back() bool {
	leaves, undo := p.Leave()
	if !leaves && p.scope.Kind == page.OnNothing || leaves && !undo {
		return false
	}
	p.scope = page.Subject{}
	p.kept.Again()
	return !leaves
}

// Focus cuts the ledger down to a controller, a key or an object; a write is
// looked up in the whole of it.
func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	scope := page.Subject{Kind: s.Kind}
	switch s.Kind {
	case page.OnController:
		scope.Controller = s.Controller
	case page.OnQueue:
		scope.Controller, scope.Queue = s.Controller, s.Queue
	case page.OnKey:
		scope.Controller, scope.Queue, scope.Key = s.Controller, s.Queue, s.Key
	case page.OnObject, page.OnRevision:
		scope.Object = s.Object
	case page.OnWrite:
		scope = page.Subject{}
	default:
		return nil, false
	}
	if s.Kind != page.OnWrite && scope.Controller == "" && scope.Object.Resource == "" {
		return nil, false
	}
	p.scope, p.Filter = scope, widget.Filter{}
	p.Arrive(p.shown)
	p.kept.Again()
	p.list.ToTop()
	p.refresh(e)
	rows := p.rows(e)
	if at := rows.Find(page.EntryID(s.Seq)); s.Kind == page.OnWrite && at >= 0 {
		p.list.To(rows, at)
	}
	return nil, true
}

func (p *Page) Plain(e *page.Env) []page.Row {
	rows := page.PlainRows(&p.list, p.rows(e))
	for i := range rows {
		rows[i].History = true
	}
	return rows
}
