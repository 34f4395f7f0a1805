package tui

import (
	"fmt"
	"strconv"
	"strings"

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

func (p *writesPage) rows(e *env) keptRows[*state.Write] {
	follows := p.list.Cursor == 0
	if p.kept.look(e.snap, e.snap.Writes, p.shows) && follows {
		p.list.Selected, p.list.Top = "", 0
	}
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

// writeObject is what a write is about, short: "deployments/status shop/web".
func writeObject(w state.WriteFinished) string {
	kind := w.Object.Resource
	if w.Subresource != "" {
		kind += "/" + w.Subresource
	}
	if w.Object.Name == "" && w.Object.Namespace != "" {
		return kind + " in " + w.Object.Namespace
	}
	return strings.TrimSpace(kind + " " + w.Object.Key())
}

// resultWord says whether a write was real.
func resultWord(w state.WriteFinished) string {
	switch w.Result {
	case state.WriteDone:
		return "real"
	case state.WriteDry:
		return "dry"
	}
	return string(w.Result)
}

func resultStyle(r state.WriteResult) widget.Style {
	switch r {
	case state.WriteDone:
		return widget.Good
	case state.WriteDry:
		return widget.Warn
	}
	return widget.Bad
}

func verbStyle(verb string) widget.Style {
	switch {
	case verb == "create":
		return widget.Good
	case strings.HasPrefix(verb, "delete"):
		return widget.Warn
	}
	return widget.Text
}

func statusCode(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
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

// scopeName says in words what a page was cut down to.
func scopeName(s subject) string {
	switch {
	case s.object.Resource != "":
		return s.object.String()
	case s.key != "":
		return render.ShortName(s.controller) + " " + s.key
	}
	return render.ShortName(s.controller)
}

func (p *writesPage) current(e *env) *state.Write {
	w, _ := p.rows(e).at(&p.list)
	return w
}

func (p *writesPage) update(msg tea.Msg, e *env) tea.Cmd {
	switch msg.(type) {
	case shownMsg:
		p.shown = true
	case hiddenMsg:
		p.shown = false
	default:
		p.linked(msg)
	}
	if p.shown && p.wide {
		return p.want(e, msg)
	}
	return nil
}

func (p *writesPage) key(key string, e *env) bool { return p.list.Key(p.rows(e), key) }

func (p *writesPage) view(e *env, w, h int) []string {
	p.wide = w >= widget.Wide
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

func writeSubject(w state.WriteFinished, seq uint64) subject {
	s := subject{
		kind: onWrite, controller: w.Controller, queue: w.Cause.Queue, key: w.Cause.Key, sync: w.Cause.Sync,
		object: w.Object, seq: seq, name: w.Verb + " " + writeObject(w), copy: func() string { return writeText(w) },
	}
	if about, tells := w.About(); tells { // nobody wants the Event's own tree
		s.explain, s.object = "told", about
	} else if w.Result == state.WriteDry {
		s.explain = "dry-write"
	}
	return s
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

// jumps are the keys that show a subject on other pages.
func jumps(s subject, nothing string, from pageID) []action {
	noKey, noObject := nothing, nothing
	if s.key == "" || s.queue == "" {
		noKey = firstOf(nothing, "no queue key is known of it")
	}
	if s.object.Resource == "" || s.object.Name == "" {
		noObject = firstOf(nothing, "it is about no single object")
	}
	object := subject{kind: onObject, object: s.object, informer: s.object.Type(), name: s.object.Name}
	key := subject{kind: onKey, controller: s.controller, queue: s.queue, key: s.key, sync: s.sync, name: s.key}
	to := func(page pageID, s subject) func() tea.Cmd { return func() tea.Cmd { return send(jumpMsg{page, s}) } }
	out := []action{
		{keys: []string{"Q"}, label: "queue", help: "Show its key in the queue.", off: noKey, do: to(pageQueues, key)},
		{keys: []string{"O"}, label: "owners", help: "Show the tree of owners in which its object stands.", off: noObject, do: to(pageTree, object)},
		{keys: []string{"C"}, label: "cache", help: "Show its object in the informer's cache.", off: noObject, do: to(pageInformers, object)},
	}
	if from != pageTimeline {
		noTime := nothing
		if s.seq == 0 {
			noTime = firstOf(nothing, "the journal has no entry of it")
		}
		out = append([]action{{keys: []string{"T"}, label: "timeline", help: "Show what led to it and what followed.", off: noTime, do: to(pageTimeline, s)}}, out...)
	}
	if from != pageWrites {
		writes, noWrites := key, noKey
		switch {
		case s.kind == onWrite:
			writes, noWrites = s, nothing
		case noKey != "":
			writes, noWrites = object, noObject
		}
		out = append(out, action{keys: []string{"W"}, label: "writes", help: "Show its writes on page 4.", off: noWrites, do: to(pageWrites, writes)})
	}
	return out
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
