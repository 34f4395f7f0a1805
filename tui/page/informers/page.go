// Package informers is page 3: the informers, and what the cache of one holds.
package informers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Page is page 3: the informers, and what one of them holds.
type Page struct {
	page.Base
	list widget.List
	// stores were asked for last; a replay has what its snapshots tell.
	stores []state.StoreStats
	// items are the rows, sorted.
	items   []state.StoreStats
	asking  bool
	opened  *cacheLevel
	opening string
	asked   page.Stale
	// size is that of the page.
	size page.SizeMsg
}

// New makes the page.
func New() page.Page {
	return &Page{list: widget.List{Columns: []widget.Column{
		{Title: "INFORMER", Grow: true, Min: 30},
		{Title: "STATE", Min: 8},
		{Title: "OBJECTS", Right: true, Min: 7},
		{Title: "VERSION", Right: true, Max: 14, Drop: 3},
		{Title: "EVENT", Aging: true, Right: true, Min: 5},
		{Title: "BOOKMARK", Aging: true, Right: true, Drop: 2},
		{Title: "EVENTS", Right: true, Drop: 5},
		{Title: "FIFO", Right: true, Drop: 4},
		{Title: "RELISTS", Right: true},
		{Title: "HANDLERS", Max: 40, Drop: 1},
	}}}
}

// refresh joins what the journal tells of informers with what the stores do.
func (p *Page) refresh(e *page.Env) {
	items := slices.Clone(p.stores)
	for name, in := range e.Snap.Informers.All() {
		if !slices.ContainsFunc(items, func(s state.StoreStats) bool { return s.Type == name }) {
			items = append(items, ofJournal(in))
		}
	}
	items = slices.DeleteFunc(items, func(s state.StoreStats) bool {
		return !p.Filter.MatchesAll() && !p.Filter.MatchesRow(p.list.Columns, p.cells(e, s), s.Type, string(s.Status))
	})
	slices.SortFunc(items, func(a, b state.StoreStats) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(storeID(a), storeID(b)))
	})
	p.items = items
	p.list.Sync(p.rows(e))
}

func (p *Page) rows(e *page.Env) widget.Slice[state.StoreStats] {
	return widget.Slice[state.StoreStats]{Items: p.items, IDOf: storeID, CellsOf: func(s state.StoreStats) []widget.Cell { return p.cells(e, s) }}
}

// storeID tells several informers of a type apart.
func storeID(s state.StoreStats) string {
	id := s.Type + "\x00" + s.Namespace
	if s.Metadata {
		id += "\x00metadata"
	}
	return id
}

// ofJournal is what a snapshot knows of an informer.
func ofJournal(in *state.Informer) state.StoreStats {
	return state.StoreStats{
		Type: in.Name, Status: in.Status, Reason: in.Reason, Objects: in.Objects, ResourceVersion: in.ResourceVersion,
		Events: in.Events, LastEvent: in.LastEvent, Relists: in.Gaps, LastRelist: in.LastGap, LastRelistAt: in.LastGapAt,
		Synced: in.Status == state.InformerSynced || in.Status == state.InformerRelisted,
	}
}

func (p *Page) cells(e *page.Env, s state.StoreStats) []widget.Cell {
	name := widget.Cell{widget.Text.Of(s.Type)}
	if s.Namespace != "" {
		name = append(name, widget.Dim.Of(" in "+s.Namespace))
	}
	if s.Metadata {
		name = append(name, widget.Dim.Of(" (metadata)"))
	}
	objects := strconv.Itoa(s.Objects)
	if !s.Synced && s.Arrived > 0 {
		if objects = strconv.Itoa(s.Arrived); s.Expected > 0 {
			objects += "/" + strconv.Itoa(s.Expected)
		}
	}
	fifo := ""
	if s.FIFODepth != nil {
		fifo = strconv.Itoa(*s.FIFODepth)
	}
	moved := s.LastBookmark
	if moved.IsZero() {
		moved = s.LastMoved
	}
	return []widget.Cell{
		name, informerState(e, s), widget.Plain(objects), widget.Word(s.ResourceVersion, widget.Dim),
		widget.Plain(e.Ago(s.LastEvent)), widget.Plain(e.Ago(moved)), widget.Plain(widget.Count(s.Events)), widget.Plain(fifo),
		widget.Word(widget.Count(s.Relists), widget.WarnIf(s.Relists > 0)), widget.Word(strings.Join(handlersOf(s), ", "), widget.Dim),
	}
}

// silentAfter is how long a watch may bring nothing: a server that sends bookmarks
// sends one about every minute.
const silentAfter = 3 * time.Minute

// silent reports whether a watch that brought bookmarks brings nothing any more. Its
// connection may be there, and what is behind it stand still.
func silent(e *page.Env, s state.StoreStats) bool {
	last := s.LastBookmark
	for _, t := range []time.Time{s.LastMoved, s.LastEvent} {
		if t.After(last) {
			last = t
		}
	}
	return s.Synced && s.Status != state.InformerStopped && !s.LastBookmark.IsZero() && e.Now.Sub(last) > silentAfter
}

func informerState(e *page.Env, s state.StoreStats) widget.Cell {
	if silent(e, s) && s.Status != state.InformerFailed {
		return widget.Word("SILENT", widget.Warn)
	}
	switch s.Status {
	case state.InformerSynced:
		return widget.Word("synced", widget.Good)
	case state.InformerRelisted:
		return widget.Word("relisted", widget.Warn)
	case state.InformerFailed:
		return widget.Word("FAILED", widget.Bad)
	case "":
		if s.Synced {
			return widget.Word("synced", widget.Good)
		}
		return widget.Word("listing", widget.Warn)
	}
	return widget.Word(string(s.Status), widget.Dim)
}

func handlersOf(s state.StoreStats) []string {
	var out []string
	for _, h := range s.Handlers {
		out = append(out, strings.TrimSuffix(h.Controller, "-controller"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *Page) Title(e *page.Env) string {
	switch {
	case p.opening != "":
		return "Cache of " + p.opening + ": opening"
	case p.opened != nil:
		return p.opened.title()
	}
	return fmt.Sprintf("Informers: %d", p.rows(e).Len())
}

// cacheOpened brings a cache that was asked for.
type cacheOpened struct {
	round int
	typ   string
	cache port.Cache
	to    page.Subject
	err   error
}

// storesMsg brings the stores.
type storesMsg []state.StoreStats

func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	cmd := p.answer(msg, e)
	p.refresh(e)
	return cmd
}

func (p *Page) answer(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case storesMsg:
		p.stores, p.asking = msg, false
		return nil
	case page.FilteredMsg:
		if p.opened == nil {
			p.list.ToTop()
		}
	case page.SizeMsg:
		p.list.Resize(msg.H)
		p.size = msg
	case cacheOpened:
		return p.take(msg, e)
	case page.HiddenMsg:
		return nil
	case page.ShownMsg, page.TickMsg:
		if p.opened != nil {
			return p.opened.update(msg, e)
		}
		return p.ask(e)
	}
	if p.opened != nil {
		return p.opened.update(msg, e)
	}
	return nil
}

func (p *Page) ask(e *page.Env) tea.Cmd {
	if e.Caches == nil || p.asking {
		return nil
	}
	p.asking = true
	caches := e.Caches
	return func() tea.Msg { return page.ResultMsg{Page: page.Informers, Msg: storesMsg(caches.Stores())} }
}

// open opens the cache of a type, with the cursor on a subject where it has a
// name.
func (p *Page) open(e *page.Env, typ string, to page.Subject) tea.Cmd {
	round := p.asked.Next()
	if e.Caches == nil {
		cache := &journalCache{typ: typ}
		cache.snap.Store(e.Snap)
		return page.Send(page.ResultMsg{Page: page.Informers, Msg: cacheOpened{round: round, typ: typ, cache: cache, to: to}})
	}
	p.opening = typ
	caches, ctx := e.Caches, e.Ctx
	return func() tea.Msg {
		cache, err := caches.Open(ctx, typ)
		return page.ResultMsg{Page: page.Informers, Msg: cacheOpened{round, typ, cache, to, err}}
	}
}

func (p *Page) take(msg cacheOpened, e *page.Env) tea.Cmd {
	if !p.asked.Is(msg.round) {
		if msg.cache != nil {
			msg.cache.Close()
		}
		return nil
	}
	p.opening = ""
	if msg.err != nil {
		return page.Complain(msg.err.Error())
	}
	p.close()
	p.opened = newCacheLevel(msg.typ, msg.cache)
	_ = p.opened.update(p.size, e) // there are no rows to draw yet
	if msg.to.Object.Name != "" {
		p.opened.list.Seek(msg.to.Object.Key())
	}
	f, err := widget.ParseFilter(msg.to.Filter, true)
	if err != nil {
		return tea.Batch(page.Complain(err.Error()), p.opened.load(e))
	}
	p.opened.setFilter(f)
	p.opened.query = queryOf(f, p.opened.query)
	return p.opened.load(e)
}

func (p *Page) close() {
	if p.opened != nil {
		p.opened.cache.Close()
		p.opened = nil
	}
}

func (p *Page) current(e *page.Env) (state.StoreStats, bool) { return p.rows(e).At(p.list) }

func (p *Page) Key(key string, e *page.Env) bool {
	if p.opened != nil {
		return p.opened.key(key)
	}
	return p.list.Key(p.rows(e), key)
}

func (p *Page) View(e *page.Env, w, h int) []string {
	if p.opened != nil {
		return p.opened.view(e, w, h)
	}
	rows := p.rows(e)
	empty := "No informer runs. Type : and the name of a type, such as pods, to open its cache."
	if p.Filter.Text != "" {
		empty = page.NoMatch("informers", p.Filter)
	}
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, empty) }, func(w int) []widget.Line {
		s, ok := p.current(e)
		if !ok {
			return nil
		}
		return storeDetail(e, s, w)
	})
}

// storeDetail is all that is known of an informer.
func storeDetail(e *page.Env, s state.StoreStats, w int) []widget.Line {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return e.Clock(t) + ", " + e.Ago(t) + " ago"
	}
	out := []widget.Line{widget.Heading(strings.TrimSpace(s.Type + " " + s.Version))}
	out = append(out, widget.Fact("state", informerState(e, s).Text(), widget.Text)...)
	if s.Reason != "" {
		out = append(out, widget.Indent(widget.Wrapped(s.Reason, w-2, widget.Warn), 1)...)
	}
	if silent(e, s) {
		out = append(out, widget.Indent(widget.Wrapped("A watch brings a bookmark about every minute. This one brings nothing, and its server may stand still: the cache may be old.", w-2, widget.Warn), 1)...)
	}
	out = append(out, widget.Fact("objects", strconv.Itoa(s.Objects), widget.Text)...)
	out = append(out, widget.Fact("version", s.ResourceVersion, widget.Text)...)
	out = append(out, widget.Fact("last event", at(s.LastEvent), widget.Text)...)
	out = append(out, widget.Fact("bookmark", at(s.LastBookmark), widget.Text)...)
	out = append(out, widget.Fact("moved", at(s.LastMoved), widget.Text)...)
	out = append(out, widget.Fact("events", widget.Count(s.Events), widget.Text)...)
	out = append(out, widget.Fact("relists", widget.Count(s.Relists), widget.Text)...)
	if s.LastRelist != "" {
		out = append(out, widget.Indent(widget.Wrapped(at(s.LastRelistAt)+": "+s.LastRelist, w-2, widget.Warn), 1)...)
	}
	if len(s.Handlers) > 0 {
		out = append(out, widget.Line{}, widget.Heading("Event handlers"))
		for _, h := range s.Handlers {
			synced := "synced"
			if !h.Synced {
				synced = "first list under way"
			}
			out = append(out, widget.Line{widget.Text.Of(" " + h.Controller), widget.Dim.Of(fmt.Sprintf("  returned from rv %s, %s", cmp.Or(h.ResourceVersion, "none yet"), synced))})
		}
	}
	return out
}

// Place says which rows are visible.
func (p *Page) Place(e *page.Env) string {
	if p.opened != nil {
		return p.opened.list.Place(cacheRows{p.opened, e})
	}
	return p.list.Place(p.rows(e))
}

func (p *Page) Under(e *page.Env) page.Subject {
	if p.opened != nil {
		return p.opened.under()
	}
	s, ok := p.current(e)
	if !ok {
		return page.Subject{}
	}
	return page.Subject{Kind: page.OnInformer, Informer: s.Type, Name: s.Type}
}

func (p *Page) Actions(e *page.Env) []page.Action {
	if p.opened != nil {
		return p.opened.actions(e)
	}
	s, ok := p.current(e)
	nothing := ""
	if !ok {
		nothing = page.ErrNothing.Error()
	}
	return []page.Action{
		{Keys: []string{"enter"}, Label: "cache", Help: "Show what the cache of the informer holds.", Off: nothing, Do: func() tea.Cmd { return p.open(e, s.Type, page.Subject{}) }},
		{Keys: []string{"D"}, Label: "details", Help: "Show all details of the informer.", Off: nothing, Do: func() tea.Cmd { return p.details(s) }},
		{Keys: []string{"b"}, Label: "behind?", Help: "Ask the API server whether the cache is behind.", Off: page.FirstOf(nothing, e.Without(e.Caches != nil)), Do: func() tea.Cmd { return behind(e, s.Type) }},
		{Keys: []string{"n"}, Label: "open type", Help: "Open the cache of another type.", Off: e.Without(e.Caches != nil), Do: func() tea.Cmd {
			return page.Send(page.PromptMsg{Label: "type: ", Done: func(typ string) tea.Cmd {
				if typ == "" {
					return nil
				}
				return p.open(e, typ, page.Subject{})
			}})
		}},
	}
}

func (p *Page) details(s state.StoreStats) tea.Cmd {
	id := storeID(s)
	return page.Send(page.OpenMsg{View: func(e *page.Env) *widget.TextView {
		rows := p.rows(e)
		if at := rows.Find(id); at >= 0 {
			s = rows.Items[at]
		}
		return &widget.TextView{Title: "Informer of " + s.Type, Lines: func(w int) []widget.Line { return storeDetail(e, s, w) }}
	}})
}

// behind asks the server for its version and waits for the cache to reach it.
func behind(e *page.Env, typ string) tea.Cmd {
	caches, ctx := e.Caches, e.Ctx
	return tea.Batch(page.Say("Asking the API server about "+typ+"…"), func() tea.Msg {
		v, err := caches.Behind(ctx, typ)
		if err != nil {
			return page.SayMsg{Text: err.Error(), Bad: true}
		}
		text := fmt.Sprintf("%s: the cache is %s (the server is at %s)", typ, v.Freshness, cmp.Or(v.ResourceVersion, "an unknown version"))
		if v.Reason != "" {
			text += ": " + v.Reason
		}
		return page.SayMsg{Text: text, Bad: v.Freshness == state.Behind}
	})
}

func (p *Page) Back() bool {
	switch {
	case p.opening != "":
		p.opening = ""
		p.asked.Next()
	case p.opened != nil && p.opened.filter.Text != "":
		p.opened.setFilter(widget.Filter{})
	case p.opened != nil:
		p.close()
	default:
		return false
	}
	return true
}

func (p *Page) Filtering() *page.Filtering {
	if o := p.opened; o != nil {
		return &page.Filtering{Current: o.filter, Labels: true, Set: o.setFilter}
	}
	return p.Base.Filtering()
}

// Focus opens the cache of a type, or that of an object with the cursor on it.
func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	typ := s.Informer
	if s.Object.Resource != "" {
		typ = s.Object.Type()
	}
	if typ == "" {
		return nil, false
	}
	return p.open(e, typ, s), true
}

func (p *Page) Plain(e *page.Env) []page.Row {
	if p.opened != nil {
		return p.opened.plain(e)
	}
	return page.PlainRows(&p.list, p.rows(e))
}
