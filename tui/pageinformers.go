package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// informersPage is page 3: the informers, and what one of them holds.
type informersPage struct {
	base
	list list
	// stores were asked for last; a replay has what its snapshots tell.
	stores  []state.StoreStats
	asking  bool
	opened  *cacheLevel
	opening string
	asked   stale
}

func newInformersPage() page {
	return &informersPage{list: list{columns: []column{
		{title: "INFORMER", grow: true, min: 30},
		{title: "STATE", min: 8},
		{title: "OBJECTS", right: true, min: 7},
		{title: "VERSION", right: true, max: 14, drop: 3},
		{title: "EVENT", aging: true, right: true, min: 5},
		{title: "BOOKMARK", aging: true, right: true, drop: 2},
		{title: "EVENTS", right: true, drop: 5},
		{title: "FIFO", right: true, drop: 4},
		{title: "RELISTS", right: true},
		{title: "HANDLERS", max: 40, drop: 1},
	}}}
}

// rows joins what the journal tells of informers with what the stores do.
func (p *informersPage) rows(e *env) slice[state.StoreStats] {
	items := slices.Clone(p.stores)
	for name, in := range e.snap.Informers.All() {
		if !slices.ContainsFunc(items, func(s state.StoreStats) bool { return s.Type == name }) {
			items = append(items, ofJournal(in))
		}
	}
	items = slices.DeleteFunc(items, func(s state.StoreStats) bool { return !p.filter.matches(s.Type, string(s.Status)) })
	slices.SortFunc(items, func(a, b state.StoreStats) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(storeID(a), storeID(b)))
	})
	return slice[state.StoreStats]{items, storeID, func(s state.StoreStats) []cell { return p.cells(e, s) }}
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

func (p *informersPage) cells(e *env, s state.StoreStats) []cell {
	name := cell{styleText.of(s.Type)}
	if s.Namespace != "" {
		name = append(name, styleDim.of(" in "+s.Namespace))
	}
	if s.Metadata {
		name = append(name, styleDim.of(" (metadata)"))
	}
	objects := itoa(s.Objects)
	if !s.Synced && s.Arrived > 0 {
		if objects = itoa(s.Arrived); s.Expected > 0 {
			objects += "/" + itoa(s.Expected)
		}
	}
	fifo := ""
	if s.FIFODepth != nil {
		fifo = itoa(*s.FIFODepth)
	}
	moved := s.LastBookmark
	if moved.IsZero() {
		moved = s.LastMoved
	}
	return []cell{
		name, informerState(e, s), plainCell(objects), word(s.ResourceVersion, styleDim),
		plainCell(e.ago(s.LastEvent)), plainCell(e.ago(moved)), plainCell(count(s.Events)), plainCell(fifo),
		word(count(s.Relists), warnIf(s.Relists > 0)), word(strings.Join(handlersOf(s), ", "), styleDim),
	}
}

// silentAfter is how long a watch may bring nothing: a server that sends bookmarks
// sends one about every minute.
const silentAfter = 3 * time.Minute

// silent reports whether a watch that brought bookmarks brings nothing any more. Its
// connection may be there, and what is behind it stand still.
func silent(e *env, s state.StoreStats) bool {
	last := s.LastBookmark
	for _, t := range []time.Time{s.LastMoved, s.LastEvent} {
		if t.After(last) {
			last = t
		}
	}
	return s.Synced && s.Status != state.InformerStopped && !s.LastBookmark.IsZero() && e.now.Sub(last) > silentAfter
}

func informerState(e *env, s state.StoreStats) cell {
	if silent(e, s) && s.Status != state.InformerFailed {
		return word("SILENT", styleWarn)
	}
	switch s.Status {
	case state.InformerSynced:
		return word("synced", styleGood)
	case state.InformerRelisted:
		return word("relisted", styleWarn)
	case state.InformerFailed:
		return word("FAILED", styleBad)
	case "":
		if s.Synced {
			return word("synced", styleGood)
		}
		return word("listing", styleWarn)
	}
	return word(string(s.Status), styleDim)
}

func handlersOf(s state.StoreStats) []string {
	var out []string
	for _, h := range s.Handlers {
		out = append(out, strings.TrimSuffix(h.Controller, "-controller"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *informersPage) title(e *env) string {
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
	cache Cache
	to    subject
	err   error
}

// storesMsg brings the stores.
type storesMsg []state.StoreStats

func (p *informersPage) update(msg tea.Msg, e *env) tea.Cmd {
	switch msg := msg.(type) {
	case storesMsg:
		p.stores, p.asking = msg, false
		return nil
	case cacheOpened:
		return p.take(msg, e)
	case hiddenMsg:
		return nil
	case shownMsg, tickMsg:
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

func (p *informersPage) ask(e *env) tea.Cmd {
	if e.Caches == nil || p.asking {
		return nil
	}
	p.asking = true
	caches := e.Caches
	return func() tea.Msg { return pageMsg{pageInformers, storesMsg(caches.Stores())} }
}

// open opens the cache of a type, with the cursor on a subject where it has a
// name.
func (p *informersPage) open(e *env, typ string, to subject) tea.Cmd {
	round := p.asked.next()
	if e.Caches == nil {
		cache := &journalCache{typ: typ}
		cache.snap.Store(e.snap)
		return send(pageMsg{pageInformers, cacheOpened{round: round, typ: typ, cache: cache, to: to}})
	}
	p.opening = typ
	caches, ctx := e.Caches, e.ctx
	return func() tea.Msg {
		cache, err := caches.Open(ctx, typ)
		return pageMsg{pageInformers, cacheOpened{round, typ, cache, to, err}}
	}
}

func (p *informersPage) take(msg cacheOpened, e *env) tea.Cmd {
	if !p.asked.is(msg.round) {
		if msg.cache != nil {
			msg.cache.Close()
		}
		return nil
	}
	p.opening = ""
	if msg.err != nil {
		return complain(msg.err.Error())
	}
	p.close()
	p.opened = newCacheLevel(msg.typ, msg.cache)
	if msg.to.object.Name != "" {
		p.opened.list.seek(msg.to.object.Key())
	}
	f, err := parseFilter(msg.to.filter, true)
	if err != nil {
		return tea.Batch(complain(err.Error()), p.opened.load(e))
	}
	p.opened.setFilter(f)
	p.opened.query = queryOf(f, p.opened.query)
	return p.opened.load(e)
}

func (p *informersPage) close() {
	if p.opened != nil {
		p.opened.cache.Close()
		p.opened = nil
	}
}

func (p *informersPage) current(e *env) (state.StoreStats, bool) { return p.rows(e).at(&p.list) }

func (p *informersPage) key(key string, e *env) bool {
	if p.opened != nil {
		return p.opened.key(key)
	}
	return p.list.key(p.rows(e), key)
}

func (p *informersPage) view(e *env, w, h int) []string {
	if p.opened != nil {
		return p.opened.view(e, w, h)
	}
	rows := p.rows(e)
	empty := "No informer runs. Type : and the name of a type, such as pods, to open its cache."
	return beside(e.Theme, w, h, func(w, h int) []string { return p.list.view(e.Theme, rows, w, h, empty) }, func(w int) []line {
		s, ok := p.current(e)
		if !ok {
			return nil
		}
		return storeDetail(e, s, w)
	})
}

// storeDetail is all that is known of an informer.
func storeDetail(e *env, s state.StoreStats, w int) []line {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return e.clock(t) + ", " + e.ago(t) + " ago"
	}
	out := []line{heading(strings.TrimSpace(s.Type + " " + s.Version))}
	out = append(out, fact("state", informerState(e, s).text(), styleText)...)
	if s.Reason != "" {
		out = append(out, indent(wrapped(s.Reason, w-2, styleWarn), 1)...)
	}
	if silent(e, s) {
		out = append(out, indent(wrapped("A watch brings a bookmark about every minute. This one brings nothing, and its server may stand still: the cache may be old.", w-2, styleWarn), 1)...)
	}
	out = append(out, fact("objects", itoa(s.Objects), styleText)...)
	out = append(out, fact("version", s.ResourceVersion, styleText)...)
	out = append(out, fact("last event", at(s.LastEvent), styleText)...)
	out = append(out, fact("bookmark", at(s.LastBookmark), styleText)...)
	out = append(out, fact("moved", at(s.LastMoved), styleText)...)
	out = append(out, fact("events", count(s.Events), styleText)...)
	out = append(out, fact("relists", count(s.Relists), styleText)...)
	if s.LastRelist != "" {
		out = append(out, indent(wrapped(at(s.LastRelistAt)+": "+s.LastRelist, w-2, styleWarn), 1)...)
	}
	if len(s.Handlers) > 0 {
		out = append(out, line{}, heading("Event handlers"))
		for _, h := range s.Handlers {
			synced := "synced"
			if !h.Synced {
				synced = "first list under way"
			}
			out = append(out, line{styleText.of(" " + h.Controller), styleDim.of(fmt.Sprintf("  returned from rv %s, %s", cmp.Or(h.ResourceVersion, "none yet"), synced))})
		}
	}
	return out
}

func (p *informersPage) under(e *env) subject {
	if p.opened != nil {
		return p.opened.under()
	}
	s, ok := p.current(e)
	if !ok {
		return subject{}
	}
	return subject{kind: onInformer, informer: s.Type, name: s.Type}
}

func (p *informersPage) actions(e *env) []action {
	if p.opened != nil {
		return p.opened.actions(e)
	}
	s, ok := p.current(e)
	nothing := ""
	if !ok {
		nothing = errNothing.Error()
	}
	return []action{
		{keys: []string{"enter"}, label: "cache", help: "Show what the cache of the informer holds.", off: nothing, do: func() tea.Cmd { return p.open(e, s.Type, subject{}) }},
		{keys: []string{"D"}, label: "details", help: "Show all that is known of the informer.", off: nothing, do: func() tea.Cmd { return p.details(s) }},
		{keys: []string{"b"}, label: "behind?", help: "Ask the API server whether the cache is behind.", off: firstOf(nothing, e.without(e.Caches != nil)), do: func() tea.Cmd { return behind(e, s.Type) }},
		{keys: []string{"n"}, label: "open type", help: "Open the cache of another type.", off: e.without(e.Caches != nil), do: func() tea.Cmd {
			return send(promptMsg{label: "type: ", done: func(typ string) tea.Cmd {
				if typ == "" {
					return nil
				}
				return p.open(e, typ, subject{})
			}})
		}},
	}
}

func (p *informersPage) details(s state.StoreStats) tea.Cmd {
	id := storeID(s)
	return send(openMsg{func(e *env) *textView {
		rows := p.rows(e)
		if at := rows.Find(id); at >= 0 {
			s = rows.items[at]
		}
		return &textView{title: "Informer of " + s.Type, lines: func(w int) []line { return storeDetail(e, s, w) }}
	}})
}

// behind asks the server for its version and waits for the cache to reach it.
func behind(e *env, typ string) tea.Cmd {
	caches, ctx := e.Caches, e.ctx
	return tea.Batch(say("Asking the API server about "+typ+"…"), func() tea.Msg {
		v, err := caches.Behind(ctx, typ)
		if err != nil {
			return sayMsg{text: err.Error(), bad: true}
		}
		text := fmt.Sprintf("%s: the cache is %s (the server is at %s)", typ, v.Freshness, cmp.Or(v.ResourceVersion, "an unknown version"))
		if v.Reason != "" {
			text += ": " + v.Reason
		}
		return sayMsg{text: text, bad: v.Freshness == state.Behind}
	})
}

func (p *informersPage) back() bool {
	switch {
	case p.opening != "":
		p.opening = ""
		p.asked.next()
	case p.opened != nil && p.opened.filter.text != "":
		p.opened.setFilter(filter{})
	case p.opened != nil:
		p.close()
	default:
		return false
	}
	return true
}

func (p *informersPage) filtering() *filtering {
	if o := p.opened; o != nil {
		return &filtering{current: o.filter, labels: true, set: o.setFilter}
	}
	return p.base.filtering()
}

// focus opens the cache of a type, or that of an object with the cursor on it.
func (p *informersPage) focus(s subject, e *env) (tea.Cmd, bool) {
	typ := s.informer
	if s.object.Resource != "" {
		typ = s.object.Type()
	}
	if typ == "" {
		return nil, false
	}
	return p.open(e, typ, s), true
}

func (p *informersPage) plain(e *env) []plainRow {
	if p.opened != nil {
		return p.opened.plain(e)
	}
	return plainRows(&p.list, p.rows(e))
}
