package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// controllersPage is page 1: the loops.
type controllersPage struct {
	base
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

func newControllersPage() page {
	return &controllersPage{list: widget.List{Columns: []widget.Column{
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
func (p *controllersPage) refresh(e *env) {
	var items []*state.Controller
	for _, c := range e.snap.Controllers.All() {
		if p.filter.Matches(c.Name, string(c.Status), c.Reason) {
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

func (p *controllersPage) rows(e *env) widget.Slice[*state.Controller] {
	return widget.Slice[*state.Controller]{Items: p.items, IDOf: func(c *state.Controller) string { return c.Name }, CellsOf: func(c *state.Controller) []widget.Cell { return p.cells(e, c) }}
}

// besideCluster reports whether loops run dry beside those of a cluster.
func besideCluster(e *env) bool {
	s := e.latest.Session
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

func (p *controllersPage) cells(e *env, c *state.Controller) []widget.Cell {
	return []widget.Cell{
		widget.Word(render.ShortName(c.Name), widget.Text),
		controllerState(e, c),
		widget.Plain(widget.Count(c.Now.Ready)),
		widget.Plain(widget.Count(c.Now.Waiting)),
		widget.Word(widget.Sparkline(e.trends.depths(c.Name), 12), widget.Accent),
		widget.Plain(widget.Count(c.Now.Processing)),
		widget.Word(widget.Count(c.Retries), widget.WarnIf(c.Now.Waiting > 0 && c.Retries > 0)),
		widget.Plain(widget.PerSecond(e.trends.syncsPerSecond(c.Name))),
		widget.Word(widget.Count(c.Errors), widget.BadIf(c.Errors > 0)),
		widget.Plain(widget.DurationOf(c.P99())),
		widget.Plain(e.ago(c.LastSync)),
		widget.Plain(widget.Count(c.Writes.Total())),
		widget.Word(firstOf(c.Reason, lastErrorText(e, c)), widget.Dim),
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
func lastErrorText(e *env, c *state.Controller) string {
	last := e.snap.LastErrorOf(c)
	return render.Resolved(last.Text, last.Cleared)
}

// controllerState is the loop's state in a word.
func controllerState(e *env, c *state.Controller) widget.Cell {
	switch {
	case e.snap.Paused(c.Name) && c.Status != state.ControllerStopped && c.Status != state.ControllerFailed:
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

func (p *controllersPage) title(e *env) string {
	loops, running, clients := 0, 0, 0
	for _, c := range e.snap.Controllers.All() {
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
		return fmt.Sprintf("Controllers: no loop runs here; clients of the command: %d", clients)
	}
	where := ""
	switch {
	case e.standing().Phase == state.ActiveLeading:
		where = " here, FOR REAL, in place of the cluster's own"
	case e.Observing, besideCluster(e):
		where = " here; the cluster's own run elsewhere"
	}
	text := fmt.Sprintf("Controllers: %d of %d loops run%s", running, loops, where)
	if p.sort != byStatus {
		text += "; by " + string(p.sort)
	}
	return text
}

func (p *controllersPage) current(e *env) *state.Controller {
	c, _ := p.rows(e).At(p.list)
	return c
}

// update keeps the cursor on the first row until it is used: rows come in above it
// while a session starts, and the screen would open in the middle of them.
func (p *controllersPage) update(msg tea.Msg, e *env) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case snapshotMsg:
		if !p.used {
			p.list.ToTop()
		}
	case shownMsg:
		p.shown = true
		cmd = p.askStores(e)
	case hiddenMsg:
		p.shown = false
	case tickMsg:
		cmd = p.askStores(e)
	case controllerStores:
		p.stores, p.asking = msg, false
	case sizeMsg:
		p.list.Resize(msg.h)
	}
	if p.shown {
		p.refresh(e)
	}
	return cmd
}

// controllerStores brings the informers of controllers.
type controllerStores []state.StoreStats

func (p *controllersPage) askStores(e *env) tea.Cmd {
	if e.Caches == nil || p.asking {
		return nil
	}
	p.asking = true
	caches := e.Caches
	return func() tea.Msg { return pageMsg{pageControllers, controllerStores(caches.Stores())} }
}

func (p *controllersPage) key(key string, e *env) bool {
	if !p.list.Key(p.rows(e), key) {
		return false
	}
	p.used = true
	return true
}

// using wraps what is done to the row under the cursor.
func (p *controllersPage) using(actions []action) []action {
	for i, a := range actions {
		actions[i].do = func() tea.Cmd { p.used = true; return a.do() }
	}
	return actions
}

func (p *controllersPage) view(e *env, w, h int) []string {
	rows := p.rows(e)
	empty := "No loop has been heard of yet."
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, empty) },
		func(w int) []widget.Line { return p.detail(e, p.current(e), w) })
}

func (p *controllersPage) under(e *env) subject {
	c := p.current(e)
	if c == nil {
		return subject{}
	}
	return subject{kind: onController, controller: c.Name, name: c.Name}
}

func (p *controllersPage) actions(e *env) []action {
	c := p.current(e)
	nothing := ""
	if c == nil {
		nothing, c = errNothing.Error(), &state.Controller{}
	}
	notLoop := firstOf(nothing, e.without(e.Loops != nil))
	if notLoop == "" && c.Status == "" {
		notLoop = c.Name + " is no loop of this process"
	}
	notRunning, running := notLoop, notLoop
	if notLoop == "" && c.Status != state.ControllerRunning {
		notRunning = "the loop does not run"
	}
	if notLoop == "" && c.Status == state.ControllerRunning {
		running = "the loop runs already"
	}
	pause, pauseHelp := "pause", "Pause the loop's workers; its informers go on, and keys gather."
	if e.latest.Paused(c.Name) {
		pause, pauseHelp = "resume", "Let the loop's workers go on."
	}
	pauseKeys := []string{" ", "P"}
	if e.Player != nil {
		pauseKeys = []string{"P"} // the space bar plays
	}
	return p.using([]action{
		{keys: []string{"enter"}, label: "details", help: "Show the loop's queues, informers, syncs and writes.", off: nothing, do: func() tea.Cmd { return p.open(c.Name) }},
		{keys: pauseKeys, label: pause, help: pauseHelp, off: notRunning, do: func() tea.Cmd { return pauseOrResume(e, c.Name) }},
		{keys: []string{"s"}, label: "start", help: "Start a loop that is off, dry.", off: running, do: func() tea.Cmd {
			loops, ctx, name := e.Loops, e.ctx, c.Name
			return doing("start "+render.ShortName(name), func() error { return loops.Start(ctx, name) })
		}},
		{keys: []string{"o"}, label: "sort", help: "Sort by the next of: state, depth, errors, syncs, p99, writes.", do: func() tea.Cmd {
			all := controllerSorts()
			p.sort = all[(slices.Index(all, p.sort)+1)%len(all)]
			p.list.ToTop()
			return nil
		}},
		{keys: []string{"Q"}, label: "queues", help: "Show its queues.", off: nothing, do: func() tea.Cmd {
			return send(jumpMsg{pageQueues, subject{kind: onController, controller: c.Name, name: c.Name}})
		}},
		{keys: []string{"W"}, label: "writes", help: "Show its writes.", off: nothing, do: func() tea.Cmd {
			return send(jumpMsg{pageWrites, subject{kind: onController, controller: c.Name, name: c.Name}})
		}},
	})
}

func (p *controllersPage) open(name string) tea.Cmd {
	view := func(e *env) *widget.TextView {
		return &widget.TextView{Title: name, Lines: func(w int) []widget.Line { return p.detail(e, e.snap.Controller(name), w) }}
	}
	return func() tea.Msg { return openMsg{view} }
}

// detail is all that is known of one loop.
func (p *controllersPage) detail(e *env, c *state.Controller, w int) []widget.Line {
	if c == nil {
		return nil
	}
	out := []widget.Line{widget.Heading(c.Name)}
	now := controllerState(e, c)[0].Text
	if !c.Since.IsZero() {
		now += ", for " + e.ago(c.Since)
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
		out = append(out, widget.Fact("reads", fmt.Sprintf("%d lists, watches and others, the last %s ago", c.Reads, e.ago(c.LastRead)), widget.Text)...)
	}
	if last := e.snap.LastErrorOf(c); last.Text != "" {
		when, style := e.ago(last.At)+" ago, "+last.Key, widget.Bad
		if !last.Stands() {
			when, style = when+", resolved "+e.ago(last.Cleared)+" ago", widget.Dim
		}
		out = append(out, widget.Fact("last error", when, style)...)
		out = append(out, widget.Indent(widget.Wrapped(last.Text, w-2, style), 1)...)
	}
	out = append(out, widget.Line{}, widget.Heading("Queues"))
	for q := range e.snap.QueuesOf(c.Name) {
		out = append(out, widget.Line{widget.Bold.Of(" " + q.Name), widget.Text.Of(fmt.Sprintf("  depth %d, %d delayed, %d in flight%s; %d added, %d retries", q.Ready, q.Waiting, q.Processing, againIf(q.Dirty), q.Adds, q.Retries))})
	}
	out = append(out, p.handlers(c)...)
	out = append(out, widget.Line{}, widget.Heading("Recent syncs"))
	return append(out, recentSyncs(e, c.Name, 20)...)
}

// handlers lists the informers by which the loop hears of changes.
func (p *controllersPage) handlers(c *state.Controller) []widget.Line {
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
func recentSyncs(e *env, controller string, n int) []widget.Line {
	var out []widget.Line
	for s := range e.snap.Syncs.Backward() {
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
func syncLines(e *env, s *state.Sync) []widget.Line {
	l := widget.Line{widget.Dim.Of(" " + e.clock(s.Taken) + " "), widget.Bold.Of(s.Key), widget.Text.Of(" took " + state.Short(s.Duration))}
	if s.Writes > 0 {
		l = append(l, widget.Text.Of(fmt.Sprintf(", %d writes", s.Writes)))
	}
	if cause := s.Cause.String(); cause != "" {
		l = append(l, widget.Dim.Of(" ← "+cause))
	}
	out := []widget.Line{l}
	if s.Failed {
		text := "failed: " + cmp.Or(s.Error, "upstream did not say how")
		if !s.RetryDue.IsZero() {
			text += fmt.Sprintf("; retry %d after %s", s.Retries, state.Short(s.RetryDue.Sub(s.Finished)))
		}
		out = append(out, widget.Line{widget.Bad.Of("   " + text)})
	}
	return out
}

func (p *controllersPage) focus(s subject, e *env) (tea.Cmd, bool) {
	if s.controller == "" {
		return nil, false
	}
	p.filter = widget.Filter{}
	p.list.Seek(s.controller)
	p.used = true
	p.refresh(e)
	return nil, true
}

func (p *controllersPage) plain(e *env) []plainRow { return plainRows(&p.list, p.rows(e)) }
