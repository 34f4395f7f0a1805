// Package queues is page 2: the keys in the work queues, why each is there, and the
// story of one.
package queues

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Page is page 2: the keys in the workqueues.
//
// Its rows are sorted once per snapshot at most: few at once, many in a command,
// with pauses in proportion to what it took. Meanwhile the rows stand in their
// old order, and show their keys as they are.
type Page struct {
	page.Base
	list  widget.List
	query keyQuery

	order  *keyOrder
	pacing page.Pacing
	asking bool
	stale  page.Stale
	shown  bool
	// wanted is to be selected as soon as an order has it.
	wanted string

	// writes are those of the key whose story is told beside the list.
	writes keyWrites
	wide   bool
}

// manyKeys is from how many keys on they are sorted in a command.
const manyKeys = 3000

// sortEvery is the least time between two of these commands.
const sortEvery = 250 * time.Millisecond

// New makes the page.
func New() page.Page {
	return &Page{
		query: keyQuery{sort: byState},
		order: &keyOrder{},
		list: widget.List{Columns: []widget.Column{
			{Title: "STATE", Min: 10},
			{Title: "CONTROLLER", Max: 18, Grow: true, Min: 10},
			{Title: "QUEUE", Max: 24, Drop: 2},
			{Title: "KEY", Grow: true, Min: 16, Want: 26, Ends: true},
			{Title: "AGE", Right: true, Min: 5},
			{Title: "DUE", Right: true, Min: 5},
			{Title: "RETRY", Right: true},
			{Title: "LAST", Min: 6, Drop: 5},
			{Title: "SYNCS", Right: true, Drop: 4},
			{Title: "WHY", Max: 50, Drop: 3},
			{Title: "ERROR", Max: 40, Drop: 1},
		}},
	}
}

func (p *Page) wantedQuery() keyQuery {
	q := p.query
	q.filter = p.Filter.Text
	return q
}

// refresh brings the order up to date: at once where there are few keys, and by a
// command otherwise.
func (p *Page) refresh(e *page.Env, msg tea.Msg) tea.Cmd {
	q := p.wantedQuery()
	if p.order.snap == e.Snap && p.order.query == q {
		return nil
	}
	f := p.Filter
	if e.Snap.Keys.Len()+e.Snap.Done.Len() <= manyKeys {
		p.stale.Next()
		p.asking = false
		p.take(orderKeys(e.Snap, q, f), e, 0)
		return nil
	}
	if p.asking {
		return nil // the answer asks again
	}
	if p.pacing.Took > 0 && p.order.query == q && !p.pacing.Due(e, msg, sortEvery) {
		return nil // the next second asks again
	}
	p.asking = true
	snap := e.Snap
	return page.Ask(page.Queues, p.stale.Next(), func() (*keyOrder, error) {
		return orderKeys(snap, q, f), nil
	})
}

func (p *Page) take(o *keyOrder, e *page.Env, took time.Duration) {
	p.order, p.pacing = o, page.Pacing{At: e.Now, Took: took}
	p.want()
}

// want puts the cursor on the key that was jumped to, once it is there.
func (p *Page) want() {
	if p.wanted != "" && p.order.find(p.wanted) >= 0 {
		p.list.Seek(p.wanted)
		p.wanted = ""
	}
}

func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case page.Answer[*keyOrder]:
		if !p.stale.Is(msg.Round) {
			return nil
		}
		p.asking = false
		p.take(msg.Value, e, msg.Took)
	case page.ShownMsg:
		p.shown = true
	case page.HiddenMsg:
		p.shown = false
		p.Stay()
	case page.FilteredMsg:
		p.list.ToTop()
	case page.SizeMsg:
		p.wide = msg.W >= widget.Wide
		p.list.Resize(listHeight(msg.W, msg.H))
	}
	if !p.shown {
		return nil
	}
	cmd := p.refresh(e, msg)
	p.list.Sync(p.rows(e))
	if k := p.current(e); k != nil && p.wide {
		p.writes.look(e.Snap, k)
	}
	return cmd
}

func (p *Page) rows(e *page.Env) keyRows {
	return keyRows{p.order, e.Snap, func(_ string, k *state.Key) []widget.Cell { return p.cells(e, k) }}
}

func (p *Page) cells(e *page.Env, k *state.Key) []widget.Cell {
	last, style := lastAttempt(k)
	return []widget.Cell{
		keyState(e.Snap.HoldOf(k.Controller, k.Queue, k.Key), k),
		widget.Plain(render.ShortName(k.Controller)),
		widget.Word(k.Queue, widget.Dim),
		widget.Plain(k.Key),
		widget.Plain(e.Ago(k.Since)),
		widget.Word(e.In(k.Due), widget.Accent),
		widget.Word(widget.Count(k.Retries), widget.WarnIf(k.Retries > 0)),
		widget.Word(last, style),
		widget.Plain(widget.Count(k.Syncs)),
		widget.Word(k.Cause.String(), widget.Dim),
		widget.Word(render.Resolved(k.LastError, k.LastErrorCleared), widget.BadIf(failing(k))),
	}
}

// lastAttempt is how a key's last attempt ended.
func lastAttempt(k *state.Key) (string, widget.Style) {
	n := len(k.Attempts)
	switch {
	case n == 0:
		return "", widget.Text
	case k.Attempts[n-1].Failed:
		return "failed", widget.Bad
	}
	return "ok", widget.Text
}

// keyState is where a key stands, in a word.
func keyState(held *state.BreakpointHit, k *state.Key) widget.Cell {
	switch {
	case held != nil && held.Write != "":
		return widget.Word("HELD write", widget.Warn)
	case held != nil:
		return widget.Word("HELD", widget.Warn)
	}
	styles := map[state.Phase]widget.Style{
		state.PhaseProcessing: widget.Good, state.PhaseDirty: widget.Warn, state.PhaseWaiting: widget.Accent,
		state.PhaseDone: widget.Dim, state.PhaseDropped: widget.Dim,
	}
	return widget.Word(string(k.Phase), styles[k.Phase])
}

func (p *Page) Title(e *page.Env) string {
	whose := "Queues"
	if p.query.controller != "" {
		whose += " of " + render.ShortName(p.query.controller)
	}
	var counts []string
	for _, phase := range []state.Phase{state.PhaseProcessing, state.PhaseReady, state.PhaseDirty, state.PhaseWaiting, state.PhaseDone, state.PhaseDropped} {
		if n := p.order.counts[phase]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	text := fmt.Sprintf("%s%s: %s", breakTitle(e), whose, cmp.Or(strings.Join(counts, ", "), "no keys"))
	switch {
	case p.query.failures:
		text += "; failures only"
	case p.order.failing > 0:
		text += fmt.Sprintf("; %d failing", p.order.failing)
	}
	if p.query.noDone {
		text += "; without done"
	}
	if n := p.order.renewals; n > 0 {
		text += fmt.Sprintf("; without %d of renewed leases", n)
	}
	text += "; by " + string(p.query.sort)
	if p.query.reverse {
		text += " reversed"
	}
	return text
}

// breakTitle says what breakpoints there are, and that one holds something.
func breakTitle(e *page.Env) string {
	c := e.Snap.Controls
	if held := c.Holds.Len(); held > 0 {
		return fmt.Sprintf("BREAK: %d held. ", held)
	}
	text := ""
	switch paused := pausedLoops(e); len(paused) {
	case 0:
	case 1:
		text = "PAUSED: " + render.ShortName(paused[0]) + ". "
	default:
		text = fmt.Sprintf("PAUSED: %d controllers. ", len(paused))
	}
	if points := c.Breakpoints.Len(); points > 0 {
		text += fmt.Sprintf("Breakpoints: %d. ", points)
	}
	return text
}

// pausedLoops are the loops whose workers stand still.
func pausedLoops(e *page.Env) []string {
	var out []string
	for name := range e.Snap.Controllers.All() {
		if e.Snap.Paused(name) {
			out = append(out, name)
		}
	}
	return out
}

func (p *Page) current(e *page.Env) *state.Key {
	r := p.rows(e)
	at := p.list.At(r)
	if at < 0 {
		return nil
	}
	return r.at(at)
}

func (p *Page) Key(key string, e *page.Env) bool {
	p.wanted = ""
	return p.list.Key(p.rows(e), key)
}

// footLines stand below the list on a narrow screen, and say why the key under
// the cursor is there.
const footLines = 3

// listHeight is how much of the page's height its list has.
func listHeight(w, h int) int {
	if w < widget.Wide && h > 4*footLines {
		return h - footLines
	}
	return h
}

func (p *Page) View(e *page.Env, w, h int) []string {
	rows := p.rows(e)
	if high := listHeight(w, h); high < h {
		out := p.list.View(e.Theme, rows, w, high, p.empty(e))
		return append(out, widget.Fit(e.Theme, p.foot(e, p.current(e)), w, footLines)...)
	}
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, p.empty(e)) },
		func(w int) []widget.Line { return p.story(e, p.current(e), w) })
}

func (p *Page) empty(e *page.Env) string {
	switch {
	case p.asking:
		return "The keys are being sorted."
	case p.Filter.Text != "":
		return page.NoMatch("keys", p.Filter)
	case p.query.failures:
		return "No key has failed last; f shows all keys."
	case p.query.controller != "":
		return "No key of " + p.query.controller + " has been seen; m shows all queues."
	}
	return "No keys yet: no controller runs, or nothing has happened."
}

func (p *Page) foot(e *page.Env, k *state.Key) []widget.Line {
	if k == nil {
		return nil
	}
	first := widget.Line{widget.Dim.Of(" why "), widget.Text.Of(cmp.Or(k.Cause.String(), "not known"))}
	if k.Causes > 1 {
		first = append(first, widget.Dim.Of(fmt.Sprintf(" and %d more", k.Causes-1)))
	}
	second := widget.Line{widget.Dim.Of(" at  "), widget.Text.Of(e.Clock(k.Added)), widget.Dim.Of(", queue " + k.Queue + ", " + countOf(k.Syncs, "sync", "syncs"))}
	third := widget.Line{}
	if held := e.Snap.HoldOf(k.Controller, k.Queue, k.Key); held != nil {
		third = heldLine(held)
	} else if k.LastError != "" {
		third = widget.Line{widget.Dim.Of(" err "), widget.BadIf(failing(k)).Of(k.LastError)}
		if !failing(k) {
			third = widget.Line{widget.Dim.Of(" err "), widget.Dim.Of("resolved, " + e.Ago(k.LastErrorAt) + " ago: " + k.LastError)}
		}
	}
	return []widget.Line{first, second, third}
}

func heldLine(h *state.BreakpointHit) widget.Line {
	if h.Write != "" {
		return widget.Line{widget.Warn.Of(" HELD before: " + h.Write + " (s lets it go)")}
	}
	return widget.Line{widget.Warn.Of(" HELD before a worker takes it (s lets it through)")}
}

func countOf(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Place says which rows are visible.
func (p *Page) Place(e *page.Env) string {
	return p.list.Place(p.rows(e))
}

func (p *Page) Under(e *page.Env) page.Subject {
	k := p.current(e)
	if k == nil {
		return page.Subject{}
	}
	explain := string(k.Phase)
	if e.Snap.HoldOf(k.Controller, k.Queue, k.Key) != nil {
		explain = "held"
	}
	return page.Subject{
		Kind: page.OnKey, Controller: k.Controller, Queue: k.Queue, Key: k.Key,
		Object: e.Snap.KeyObject(k), Sync: k.Sync, Name: k.Key, Explain: explain,
	}
}

// Focus takes a controller, a queue's or a key's, and anything that names a key:
// a write, an entry. Of an object it shows the keys that bear its name.
func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	if s.Controller == "" && s.Object.Name == "" {
		return nil, false
	}
	p.Filter, p.query = widget.Filter{}, keyQuery{sort: p.query.sort}
	switch {
	case s.Kind == page.OnObject || s.Controller == "":
		f, err := widget.ParseFilter(s.Object.Key(), false)
		if err != nil {
			return nil, false
		}
		p.Filter = f
	default:
		p.query.controller = s.Controller
		if s.Key != "" {
			p.wanted = state.KeyID(s.Controller, s.Queue, s.Key)
			k := e.Snap.Key(s.Controller, s.Queue, s.Key)
			p.query.renewals = k != nil && k.Cause.Renewal()
		}
	}
	p.Arrive(p.shown)
	cmd := p.refresh(e, nil)
	p.want()
	return cmd, true
}

func (p *Page) Back() bool {
	leaves, undo := p.Leave()
	if !leaves && p.query.controller == "" && !p.query.failures || leaves && !undo {
		return false
	}
	p.query.controller, p.query.failures = "", false
	return !leaves
}

func (p *Page) Plain(e *page.Env) []page.Row {
	if q := p.wantedQuery(); p.order.snap != e.Snap || p.order.query != q {
		p.take(orderKeys(e.Snap, q, p.Filter), e, 0)
	}
	return page.PlainRows(&p.list, p.rows(e))
}

// nextSort is the one after the sort in force.
func (p *Page) nextSort() keySort {
	all := keySorts()
	return all[(slices.Index(all, p.query.sort)+1)%len(all)]
}
