package tui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// writesPage is page 4: the ledger.
type writesPage struct {
	base
	linking
	list  widget.List
	kept  kept[*state.Write]
	scope subject
	// beats: the heartbeats of nodes are shown too.
	beats bool
	wide  bool
	shown bool
}

func newWritesPage() page {
	return &writesPage{
		linking: linking{page: pageWrites},
		kept:    kept[*state.Write]{seq: func(w *state.Write) uint64 { return w.Seq }},
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

func (p *writesPage) shows(w *state.Write) bool {
	s := p.scope
	switch {
	case !p.beats && w.Heartbeat(),
		s.controller != "" && w.Controller != s.controller,
		s.key != "" && w.Cause.Key != s.key,
		s.queue != "" && w.Cause.Queue != s.queue,
		s.object.Resource != "" && !w.Object.Same(s.object):
		return false
	case p.filter.MatchesAll():
		return true
	}
	return p.filter.Matches(w.Controller, w.Cause.Key, w.Verb, writeObject(w.WriteFinished), w.Object.Type(), resultWord(w.WriteFinished), w.Message)
}

// refresh takes over what is new. A cursor on the newest write stays on the newest.
func (p *writesPage) refresh(e *env) {
	follows := p.list.Cursor == 0
	if p.kept.look(e.snap, e.snap.Writes, p.shows) && follows {
		p.list.Selected, p.list.Top = "", 0
	}
	p.list.Sync(p.rows(e))
}

func (p *writesPage) rows(e *env) keptRows[*state.Write] {
	return keptRows[*state.Write]{&p.kept, true, func(w *state.Write) []widget.Cell { return writeCells(e, w) }}
}

func writeCells(e *env, w *state.Write) []widget.Cell {
	return []widget.Cell{
		widget.Word(e.clock(w.At), widget.Dim),
		widget.Plain(render.ShortName(w.Controller)),
		widget.Word(w.Cause.Key, widget.Dim),
		widget.Word(w.Verb, verbStyle(w.Verb)),
		widget.Plain(writeObject(w.WriteFinished)),
		widget.Word(resultWord(w.WriteFinished), resultStyle(w.Result)),
		widget.Word(statusCode(w.Status), widget.BadIf(w.Status >= 400)),
		widget.Plain(widget.DurationOf(w.Duration)),
	}
}

func (p *writesPage) title(e *env) string {
	text := fmt.Sprintf("Writes: %d", p.rows(e).Len())
	if s := scopeName(p.scope); s != "" {
		text += " of " + s
	}
	if !p.beats {
		text += ", without heartbeats"
	}
	if gone := e.snap.Writes.Evicted(); gone > 0 {
		text += fmt.Sprintf("; %d older ones are no longer kept", gone)
	}
	return text
}

func (p *writesPage) current(e *env) *state.Write {
	w, _ := p.rows(e).at(p.list)
	return w
}

func (p *writesPage) update(msg tea.Msg, e *env) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		p.shown = true
	case hiddenMsg:
		p.shown = false
	case sizeMsg:
		p.wide = msg.w >= widget.Wide
		p.list.Resize(msg.h)
	default:
		p.linked(msg)
	}
	if !p.shown {
		return nil
	}
	p.refresh(e)
	if p.wide {
		return p.want(e, msg)
	}
	return nil
}

func (p *writesPage) key(key string, e *env) bool { return p.list.Key(p.rows(e), key) }

func (p *writesPage) view(e *env, w, h int) []string {
	rows := p.rows(e)
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, p.empty()) },
		func(w int) []widget.Line {
			if c := p.current(e); c != nil {
				return writeDetail(e, c, p.hop(c.Seq), w)
			}
			return nil
		})
}

func (p *writesPage) empty() string {
	if p.filter.Text != "" || p.scope.kind != onNothing {
		return "No write is left of the filter; esc shows all."
	}
	return "Nothing has been written yet."
}

func (p *writesPage) under(e *env) subject {
	w := p.current(e)
	if w == nil {
		return subject{}
	}
	return writeSubject(w.WriteFinished, w.Seq)
}

func (p *writesPage) actions(e *env) []action {
	w := p.current(e)
	nothing := ""
	if w == nil {
		nothing, w = errNothing.Error(), &state.Write{}
	}
	under := p.under(e)
	beats, help := "heartbeats", "Show the heartbeats of nodes too."
	if p.beats {
		beats, help = "no heartbeats", "Hide the heartbeats of nodes."
	}
	out := []action{
		{keys: []string{"enter"}, label: "details", help: "Show the fields that it changes, its answer, and what is behind it.", off: nothing, do: func() tea.Cmd { return openWrite(e, w) }},
		{keys: []string{"H"}, label: beats, help: help, do: func() tea.Cmd {
			p.beats = !p.beats
			p.kept.again()
			return nil
		}},
	}
	return append(out, jumps(under, nothing, pageWrites)...)
}

// openWrite links the snapshot first, to show what is behind a write.
func openWrite(e *env, w *state.Write) tea.Cmd {
	snap := e.snap
	return func() tea.Msg {
		hop := state.Link(snap).Hop(w.Seq)
		return openMsg{func(e *env) *widget.TextView {
			return &widget.TextView{
				Title: "Write " + w.Verb + " " + writeObject(w.WriteFinished), Copy: writeText(w.WriteFinished),
				Lines: func(width int) []widget.Line { return writeDetail(e, w, hop, width) },
			}
		}}
	}
}

func (p *writesPage) filtering() *filtering {
	return &filtering{current: p.filter, set: func(f widget.Filter) {
		p.filter = f
		p.kept.again()
	}}
}

func (p *writesPage) back() bool {
	if p.scope.kind == onNothing {
		return false
	}
	p.scope = subject{}
	p.kept.again()
	return true
}

// focus cuts the ledger down to a controller, a key or an object; a write is
// looked up in the whole of it.
func (p *writesPage) focus(s subject, e *env) (tea.Cmd, bool) {
	scope := subject{kind: s.kind}
	switch s.kind {
	case onController:
		scope.controller = s.controller
	case onQueue:
		scope.controller, scope.queue = s.controller, s.queue
	case onKey:
		scope.controller, scope.queue, scope.key = s.controller, s.queue, s.key
	case onObject, onRevision:
		scope.object = s.object
	case onWrite:
		scope = subject{}
	default:
		return nil, false
	}
	if s.kind != onWrite && scope.controller == "" && scope.object.Resource == "" {
		return nil, false
	}
	p.scope, p.filter = scope, widget.Filter{}
	p.kept.again()
	p.list.ToTop()
	p.refresh(e)
	rows := p.rows(e)
	if at := rows.Find(entryID(s.seq)); s.kind == onWrite && at >= 0 {
		p.list.To(rows, at)
	}
	return nil, true
}

func (p *writesPage) plain(e *env) []plainRow {
	rows := plainRows(&p.list, p.rows(e))
	for i := range rows {
		rows[i].history = true
	}
	return rows
}
