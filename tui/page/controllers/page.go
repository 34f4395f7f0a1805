// Package controllers is page 1: the controllers of this process, or of the recorded
// one, with their state, depth and errors.
package controllers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Page is page 1: the loops.
type Page struct {
	page.Base
	list widget.List
	sort controllerSort
	// used: the user has moved the cursor, or done something to its row.
	used bool
	// items are the rows, sorted.
	items []*state.Controller
	// stores are the informers' as they were asked for last.
	stores []state.StoreStats
	asking bool
	shown  bool
}

// New makes the page.
func New() page.Page {
	return &Page{list: widget.List{Columns: []widget.Column{
		{Title: "CONTROLLER", Grow: true, Min: 26},
		{Title: "STATE", Min: 8},
		{Title: "DEPTH", Right: true},
		{Title: "DELAYED", Right: true, Drop: 6},
		{Title: "LAST MINUTE", Aging: true, Min: 12, Max: 20, Drop: 3},
		{Title: "IN FLIGHT", Right: true, Drop: 5},
		{Title: "RETRY", Right: true},
		{Title: "SYNC/S", Aging: true, Right: true},
		{Title: "ERRORS", Right: true},
		{Title: "P99", Right: true, Min: 6, Drop: 4},
		{Title: "LAST", Aging: true, Right: true, Min: 5, Drop: 2},
		{Title: "WRITES", Right: true},
		{Title: "WHY", Max: 60, Drop: 1},
	}}}
}

// controllerSort is what the loops are sorted by.
type controllerSort string

const (
	byStatus controllerSort = "" // state, and then name
	byDepth  controllerSort = "depth"
	byErrors controllerSort = "errors"
	bySyncs  controllerSort = "syncs"
	byP99    controllerSort = "p99"
	byWrites controllerSort = "writes"
)

func controllerSorts() []controllerSort {
	return []controllerSort{byStatus, byDepth, byErrors, bySyncs, byP99, byWrites}
}

// compare puts the greatest first, and the loops that run first where nothing is
// sorted by; others that write, such as the scheduler, come after them, and what is
// off last.
func (s controllerSort) compare(a, b *state.Controller) int {
	switch s {
	case byDepth:
		return cmp.Or(cmp.Compare(b.Now.Ready, a.Now.Ready), cmp.Compare(b.Now.Waiting, a.Now.Waiting))
	case byErrors:
		return cmp.Compare(b.Errors, a.Errors)
	case bySyncs:
		return cmp.Compare(b.Syncs, a.Syncs)
	case byP99:
		return cmp.Compare(b.P99(), a.P99())
	case byWrites:
		return cmp.Compare(b.Writes.Total(), a.Writes.Total())
	}
	return cmp.Compare(statusOrder(a.Status), statusOrder(b.Status))
}

// refresh sorts stably: what is equal stays in the order of names.
func (p *Page) refresh(e *page.Env) {
	var items []*state.Controller
	for _, c := range e.Snap.Controllers.All() {
		if p.Filter.MatchesAll() || p.Filter.MatchesRow(p.list.Columns, p.cells(e, c), c.Name, string(c.Status), c.Reason) {
			items = append(items, c)
		}
	}
	slices.SortStableFunc(items, p.sort.compare)
	if e.Command != nil && p.sort == byStatus { // what it is about
		slices.SortStableFunc(items, func(a, b *state.Controller) int { return cmp.Compare(clientOrder(a), clientOrder(b)) })
	}
	p.items = items
	p.list.Sync(p.rows(e))
}

func (p *Page) rows(e *page.Env) widget.Slice[*state.Controller] {
	return widget.Slice[*state.Controller]{Items: p.items, IDOf: func(c *state.Controller) string { return c.Name }, CellsOf: func(c *state.Controller) []widget.Cell { return p.cells(e, c) }}
}

// besideCluster reports whether loops run dry beside those of a cluster.
func besideCluster(e *page.Env) bool {
	s := e.Latest.Session
	return e.Player == nil && !s.Sandbox && (s.Mode == state.ModeDryRunClient || s.Mode == state.ModeDryRunServer)
}

func clientOrder(c *state.Controller) int {
	if isClient(c) {
		return 0
	}
	return 1
}

// isClient reports whether this is a client of the command, and no loop.
func isClient(c *state.Controller) bool { return c.Status == "" && c.Reads > 0 }

func statusOrder(s state.ControllerStatus) int {
	switch s {
	case state.ControllerFailed:
		return 0
	case state.ControllerRunning, state.ControllerStarting:
		return 1
	case state.ControllerStopped:
		return 2
	case "":
		return 3
	}
	return 4
}

func (p *Page) cells(e *page.Env, c *state.Controller) []widget.Cell {
	return []widget.Cell{
		widget.Word(render.ShortName(c.Name), widget.Text),
		controllerState(e, c),
		widget.Plain(widget.Count(c.Now.Ready)),
		widget.Plain(widget.Count(c.Now.Waiting)),
		widget.Word(widget.Sparkline(e.Trends.Depths(c.Name), 12), widget.Accent),
		widget.Plain(widget.Count(c.Now.Processing)),
		widget.Word(widget.Count(c.Retries), widget.WarnIf(c.Now.Waiting > 0 && c.Retries > 0)),
		widget.Plain(widget.PerSecond(e.Trends.SyncsPerSecond(c.Name))),
		widget.Word(widget.Count(c.Errors), widget.BadIf(c.Errors > 0)),
		widget.Plain(widget.DurationOf(c.P99())),
		widget.Plain(e.Ago(c.LastSync)),
		widget.Plain(widget.Count(c.Writes.Total())),
		widget.Word(page.FirstOf(c.Reason, lastErrorText(e, c)), widget.Dim),
	}
}

// againIf says how many keys in flight were added anew meanwhile.
func againIf(dirty int) string {
	if dirty == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them to run again", dirty)
}

// lastErrorText is the last error of a controller in a line.
func lastErrorText(e *page.Env, c *state.Controller) string {
	last := e.Snap.LastErrorOf(c)
	return render.Resolved(last.Text, last.Cleared)
}

// controllerState is the loop's state in a word.
func controllerState(e *page.Env, c *state.Controller) widget.Cell {
	switch {
	case e.Snap.Paused(c.Name) && c.Status != state.ControllerStopped && c.Status != state.ControllerFailed:
		return widget.Word("PAUSED", widget.Warn)
	case c.Status == state.ControllerFailed:
		return widget.Word("failed", widget.Bad)
	case c.Status == state.ControllerRunning:
		return widget.Word("running", widget.Good)
	case c.Status == "" && c.Reads > 0:
		return widget.Word("client", widget.Dim) // of exec's proxy
	case c.Status == "":
		return widget.Word("writer", widget.Dim)
	}
	return widget.Word(string(c.Status), widget.Dim)
}

func (p *Page) Title(e *page.Env) string {
	loops, running, clients := 0, 0, 0
	for _, c := range e.Snap.Controllers.All() {
		if c.Status != "" {
			loops++
		}
		if c.Status == state.ControllerRunning {
			running++
		}
		if isClient(c) {
			clients++
		}
	}
	if loops == 0 && e.Command != nil {
		return fmt.Sprintf("Controllers: none run here; clients of the command: %d", clients)
	}
	where := ""
	switch {
	case e.Standing().Phase == state.ActiveLeading:
		where = " here, FOR REAL, in place of the cluster's own"
	case e.Observing, besideCluster(e):
		where = " here; the cluster's own run elsewhere"
	}
	text := fmt.Sprintf("Controllers: %d of %d running%s", running, loops, where)
	if p.sort != byStatus {
		text += "; by " + string(p.sort)
	}
	return text
}

func (p *Page) current(e *page.Env) *state.Controller {
	c, _ := p.rows(e).At(p.list)
	return c
}

// Update keeps the cursor on the first row until it is used: rows come in above it
// while a session starts, and the screen would open in the middle of them.
func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case page.SnapshotMsg:
		if !p.used {
			p.list.ToTop()
		}
	case page.ShownMsg:
		p.shown = true
		cmd = p.askStores(e)
	case page.HiddenMsg:
		p.shown = false
	case page.TickMsg:
		cmd = p.askStores(e)
	case controllerStores:
		p.stores, p.asking = msg, false
	case page.FilteredMsg:
		p.list.ToTop()
	case page.SizeMsg:
		p.list.Resize(msg.H)
	}
	if p.shown {
		p.refresh(e)
	}
	return cmd
}

// controllerStores brings the informers of controllers.
type controllerStores []state.StoreStats

func (p *Page) askStores(e *page.Env) tea.Cmd {
	if e.Caches == nil || p.asking {
		return nil
	}
	p.asking = true
	caches := e.Caches
	return func() tea.Msg { return page.ResultMsg{Page: page.Controllers, Msg: controllerStores(caches.Stores())} }
}

func (p *Page) Key(key string, e *page.Env) bool {
	if !p.list.Key(p.rows(e), key) {
		return false
	}
	p.used = true
	return true
}

// using wraps what is done to the row under the cursor.
func (p *Page) using(actions []page.Action) []page.Action {
	for i, a := range actions {
		actions[i].Do = func() tea.Cmd { p.used = true; return a.Do() }
	}
	return actions
}

func (p *Page) View(e *page.Env, w, h int) []string {
	rows := p.rows(e)
	empty := "No controllers observed yet."
	if p.Filter.Text != "" {
		empty = page.NoMatch("controllers", p.Filter)
	}
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, empty) },
		func(w int) []widget.Line { return p.detail(e, p.current(e), w) })
}

// Place says which rows are visible.
func (p *Page) Place(e *page.Env) string {
	return p.list.Place(p.rows(e))
}

func (p *Page) Under(e *page.Env) page.Subject {
	c := p.current(e)
	if c == nil {
		return page.Subject{}
	}
	return page.Subject{Kind: page.OnController, Controller: c.Name, Name: c.Name}
}

func (p *Page) Actions(e *page.Env) []page.Action {
	c := p.current(e)
	nothing := ""
	if c == nil {
		nothing, c = page.ErrNothing.Error(), &state.Controller{}
	}
	notLoop := page.FirstOf(nothing, e.Without(e.Loops != nil))
	if notLoop == "" && c.Status == "" {
		notLoop = c.Name + " is not a controller of this process"
	}
	notRunning, running := notLoop, notLoop
	if notLoop == "" && c.Status != state.ControllerRunning {
		notRunning = "the controller is not running"
	}
	if notLoop == "" && c.Status == state.ControllerRunning {
		running = "the controller is already running"
	}
	pause, pauseHelp := "pause", "Pause the controller's workers; its informers go on, and keys queue up."
	if e.Latest.Paused(c.Name) {
		pause, pauseHelp = "resume", "Resume the controller's workers."
	}
	pauseKeys := []string{" ", "P"}
	if e.Player != nil {
		pauseKeys = []string{"P"} // the space bar plays
	}
	return p.using([]page.Action{
		{Keys: []string{"enter"}, Label: "details", Help: "Show the controller's queues, informers, syncs and writes.", Off: nothing, Do: func() tea.Cmd { return p.open(c.Name) }},
		{Keys: pauseKeys, Label: pause, Help: pauseHelp, Off: notRunning, Do: func() tea.Cmd { return page.PauseOrResume(e, c.Name) }},
		{Keys: []string{"s"}, Label: "start", Help: "Start a controller that is off, in dry-run mode.", Off: running, Do: func() tea.Cmd {
			loops, ctx, name := e.Loops, e.Ctx, c.Name
			return page.Doing("start "+render.ShortName(name), func() error { return loops.Start(ctx, name) })
		}},
		{Keys: []string{"o"}, Label: "sort", Help: "Sort by the next of: state, depth, errors, syncs, p99, writes.", Do: func() tea.Cmd {
			all := controllerSorts()
			p.sort = all[(slices.Index(all, p.sort)+1)%len(all)]
			p.list.ToTop()
			return nil
		}},
		{Keys: []string{"Q"}, Label: "queues", Help: "Show its queues.", Off: nothing, Do: func() tea.Cmd {
			return page.Send(page.JumpMsg{Page: page.Queues, To: page.Subject{Kind: page.OnController, Controller: c.Name, Name: c.Name}})
		}},
		{Keys: []string{"W"}, Label: "writes", Help: "Show its writes.", Off: nothing, Do: func() tea.Cmd {
			return page.Send(page.JumpMsg{Page: page.Writes, To: page.Subject{Kind: page.OnController, Controller: c.Name, Name: c.Name}})
		}},
	})
}

func (p *Page) open(name string) tea.Cmd {
	view := func(e *page.Env) *widget.TextView {
		return &widget.TextView{Title: name, Lines: func(w int) []widget.Line { return p.detail(e, e.Snap.Controller(name), w) }}
	}
	return func() tea.Msg { return page.OpenMsg{View: view} }
}

// detail is all that is known of one loop.
func (p *Page) detail(e *page.Env, c *state.Controller, w int) []widget.Line {
	if c == nil {
		return nil
	}
	out := []widget.Line{widget.Heading(c.Name)}
	now := controllerState(e, c)[0].Text
	if !c.Since.IsZero() {
		now += ", for " + e.Ago(c.Since)
	}
	out = append(out, widget.Fact("state", now, widget.Text)...)
	if c.Reason != "" {
		out = append(out, widget.Indent(widget.Wrapped(c.Reason, w-2, widget.Warn), 1)...)
	}
	out = append(out, widget.Fact("workers", widget.Count(c.Workers), widget.Text)...)
	if c.Syncs > 0 {
		out = append(out, widget.Fact("syncs", fmt.Sprintf("%d, %d failed; p50 %s, p99 %s", c.Syncs, c.Errors, widget.DurationOf(c.P50()), widget.DurationOf(c.P99())), widget.Text)...)
	}
	out = append(out, widget.Fact("writes", fmt.Sprintf("%d done, %d dry, %d refused, %d failed", c.Writes.Done, c.Writes.Dry, c.Writes.Refused, c.Writes.Failed), widget.Text)...)
	if c.Reads > 0 {
		out = append(out, widget.Fact("reads", fmt.Sprintf("%d lists, watches and others, the last %s ago", c.Reads, e.Ago(c.LastRead)), widget.Text)...)
	}
	if last := e.Snap.LastErrorOf(c); last.Text != "" {
		when, style := e.Ago(last.At)+" ago, "+last.Key, widget.Bad
		if !last.Stands() {
			when, style = when+", resolved "+e.Ago(last.Cleared)+" ago", widget.Dim
		}
		out = append(out, widget.Fact("last error", when, style)...)
		out = append(out, widget.Indent(widget.Wrapped(last.Text, w-2, style), 1)...)
	}
	out = append(out, widget.Line{}, widget.Heading("Queues"))
	for q := range e.Snap.QueuesOf(c.Name) {
		out = append(out, widget.Line{widget.Bold.Of(" " + q.Name), widget.Text.Of(fmt.Sprintf("  depth %d, %d delayed, %d in flight%s; %d added, %d retries", q.Ready, q.Waiting, q.Processing, againIf(q.Dirty), q.Adds, q.Retries))})
	}
	out = append(out, p.handlers(c)...)
	out = append(out, widget.Line{}, widget.Heading("Recent syncs"))
	return append(out, recentSyncs(e, c.Name, 20)...)
}

// handlers lists the informers by which the loop hears of changes.
func (p *Page) handlers(c *state.Controller) []widget.Line {
	var types []string
	for _, s := range p.stores {
		if slices.ContainsFunc(s.Handlers, func(h state.HandlerStats) bool { return h.Controller == c.Name }) {
			types = append(types, fmt.Sprintf("%s (%d)", s.Type, s.Objects))
		}
	}
	if len(types) == 0 {
		return nil
	}
	return append([]widget.Line{{}, widget.Heading("Informers")}, widget.Indent(widget.Wrapped(strings.Join(types, ", "), 100, widget.Text), 1)...)
}

// recentSyncs are the latest syncs of a loop, newest first.
func recentSyncs(e *page.Env, controller string, n int) []widget.Line {
	var out []widget.Line
	for s := range e.Snap.Syncs.Backward() {
		if s.Controller != controller {
			continue
		}
		out = append(out, syncLines(e, s)...)
		if n--; n == 0 {
			break
		}
	}
	if out == nil {
		return []widget.Line{{widget.Dim.Of(" none yet")}}
	}
	return out
}

// syncLines tell of one sync: what, how long, why, and how it failed.
func syncLines(e *page.Env, s *state.Sync) []widget.Line {
	l := widget.Line{widget.Dim.Of(" " + e.Clock(s.Taken) + " "), widget.Bold.Of(s.Key), widget.Text.Of(" took " + state.Short(s.Duration))}
	if s.Writes > 0 {
		l = append(l, widget.Text.Of(fmt.Sprintf(", %d writes", s.Writes)))
	}
	if cause := s.Cause.String(); cause != "" {
		l = append(l, widget.Dim.Of(" ← "+cause))
	}
	out := []widget.Line{l}
	if s.Failed {
		text := "failed: " + cmp.Or(s.Error, "no error reported")
		if !s.RetryDue.IsZero() {
			text += fmt.Sprintf("; retry %d after %s", s.Retries, state.Short(s.RetryDue.Sub(s.Finished)))
		}
		out = append(out, widget.Line{widget.Bad.Of("   " + text)})
	}
	return out
}

func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	if s.Controller == "" {
		return nil, false
	}
	p.Filter = widget.Filter{}
	p.list.Seek(s.Controller)
	p.used = true
	p.refresh(e)
	return nil, true
}

func (p *Page) Plain(e *page.Env) []page.Row { return page.PlainRows(&p.list, p.rows(e)) }
