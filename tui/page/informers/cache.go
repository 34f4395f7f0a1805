package informers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// cacheLevel is what one cache holds, below page 3. It has a window of rows and
// asks for another when the cursor leaves it or the cache has changed.
type cacheLevel struct {
	typ    string
	cache  port.Cache
	list   widget.List
	filter widget.Filter
	query  port.CacheQuery
	window port.CacheWindow
	// edition is that of the window; loading says that one is under way, again
	// that another must follow it.
	edition        uint64
	loading, again bool
	failed         error
	columns        []string
	stats          state.StoreStats
	// wide: there is room for the object under the cursor beside the list. drawn is
	// the object that shown names, with its version; drawing is the one asked for.
	wide           bool
	shown, drawing string
	drawn          []widget.Line
}

// shownAtFirst are the columns before the user chooses. A journal knows no status.
func (c *cacheLevel) shownAtFirst() []string {
	if _, recorded := c.cache.(*journalCache); recorded {
		return []string{"NAMESPACE", "NAME", "CHANGED", "VERSION", "OWNER"}
	}
	return []string{"NAMESPACE", "NAME", "READY", "STATUS", "AGE", "CHANGED", "VERSION", "OWNER"}
}

func newCacheLevel(typ string, cache port.Cache) *cacheLevel {
	c := &cacheLevel{typ: typ, cache: cache}
	c.choose(c.shownAtFirst())
	return c
}

func (c *cacheLevel) choose(names []string) {
	c.columns, c.list.Columns = nil, nil
	for _, column := range cacheColumns() {
		if slices.Contains(names, column.Title) {
			c.columns = append(c.columns, column.Title)
			c.list.Columns = append(c.list.Columns, column)
		}
	}
}

// cacheLoaded brings a window; at is the place of the selected object.
type cacheLoaded struct {
	of       *cacheLevel
	query    port.CacheQuery
	window   port.CacheWindow
	edition  uint64
	stats    state.StoreStats
	selected string
	at       int
	found    bool
	err      error
}

// load asks for the rows around the cursor, one question at a time.
func (c *cacheLevel) load(e *page.Env) tea.Cmd {
	if c.loading {
		c.again = true
		return nil
	}
	c.loading, c.again = true, false
	cache, query, selected, top, height := c.cache, c.query, c.list.Selected, c.list.Top, max(c.list.Height, 20)
	edition := cache.Edition()
	return func() tea.Msg {
		m := cacheLoaded{of: c, query: query, selected: selected, edition: edition}
		at := top
		if selected != "" {
			namespace, name := splitKey(selected)
			if m.at, m.found = cache.Find(query, namespace, name); m.found {
				at = m.at
			}
		}
		m.window, m.err = cache.Window(query, max(at-2*height, 0), 4*height)
		m.stats = cache.Stats()
		return page.ResultMsg{Page: page.Informers, Msg: m}
	}
}

func splitKey(key string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return namespace, name
	}
	return "", key
}

// update sees to it that the window and the object beside it are those of the cursor.
func (c *cacheLevel) update(msg tea.Msg, e *page.Env) tea.Cmd {
	cmd := c.answer(msg, e)
	return tea.Batch(cmd, c.drawObject())
}

func (c *cacheLevel) answer(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case cacheLoaded:
		return c.take(msg, e)
	case cacheDrawn:
		if msg.of == c && msg.id == c.drawing {
			c.shown, c.drawn, c.drawing = msg.id, msg.lines, ""
		}
	case page.SizeMsg:
		c.wide = msg.W >= widget.Wide
		c.list.Resize(msg.H)
	case page.ShownMsg:
		return c.load(e)
	case page.SnapshotMsg, page.TickMsg:
		if j, ok := c.cache.(*journalCache); ok {
			j.snap.Store(e.Snap)
		}
		if c.cache.Edition() != c.edition || !c.window.Built || !c.window.Synced {
			return c.load(e)
		}
	case page.FilteredMsg:
		c.list.ToTop()
		return c.answer(page.ChangedMsg{}, e)
	case page.ChangedMsg:
		if !c.covered() || c.query != queryOf(c.filter, c.query) {
			c.query = queryOf(c.filter, c.query)
			return c.load(e)
		}
	}
	return nil
}

// covered: each row on the screen has been loaded.
func (c *cacheLevel) covered() bool {
	r := cacheRows{cacheLevel: c}
	last := min(c.list.Top+c.list.Height, r.Len()) - 1
	if last < 0 {
		return true
	}
	_, first := r.row(c.list.Top)
	_, end := r.row(last)
	return first && end
}

func (c *cacheLevel) take(m cacheLoaded, e *page.Env) tea.Cmd {
	if m.of != c {
		return nil
	}
	c.loading = false
	if m.query == c.query {
		c.failed = m.err
		if m.err == nil {
			c.window, c.edition, c.stats = m.window, m.edition, m.stats
			if m.found && m.selected == c.list.Selected {
				c.list.Top += m.at - c.list.Cursor
				c.list.Cursor = m.at
			}
			c.list.Sync(cacheRows{c, e})
		}
	}
	if c.again || m.query != c.query {
		return c.load(e)
	}
	return nil
}

// queryOf is a filter as a query of a cache; the order stays.
func queryOf(f widget.Filter, q port.CacheQuery) port.CacheQuery {
	out := port.CacheQuery{Sort: q.Sort, Descending: q.Descending, Labels: f.Labels}
	text := f.Text
	switch {
	case f.Labels != "" || text == "-l":
		return out
	case strings.HasPrefix(text, "-f "):
		out.Text, out.Fuzzy = strings.TrimSpace(text[3:]), true
		return out
	}
	out.Text, out.Invert = strings.CutPrefix(text, "!")
	if out.Regexp = widget.IsPattern(out.Text); out.Regexp {
		out.Text = "(?i)" + out.Text
	}
	return out
}

func (c *cacheLevel) setFilter(f widget.Filter) { c.filter = f }

func (c *cacheLevel) title() string {
	s := c.stats
	kind := "cache of " + cmp.Or(s.Type, c.typ)
	if s.Metadata {
		kind += " (metadata)"
	}
	text := fmt.Sprintf("Informers › %s: %d", kind, c.window.Total)
	switch {
	case c.failed != nil:
		return text + ": " + c.failed.Error()
	case s.Status == state.InformerFailed:
		return text + ": FAILED: " + s.Reason
	case !c.window.Synced && c.window.Expected > 0:
		text += fmt.Sprintf(" of about %d, listing", c.window.Expected)
	case !c.window.Synced:
		text += ", listing"
	case !c.window.Built:
		text += fmt.Sprintf(", %d of %d looked at", c.window.Seen, c.window.Objects)
	}
	if c.query.Sort != "" {
		text += ", by " + c.query.Sort
	}
	if c.query.Descending {
		text += " reversed"
	}
	return text
}

func (c *cacheLevel) key(key string) bool {
	r := cacheRows{cacheLevel: c}
	if !c.list.Key(r, key) {
		return false
	}
	if r.ID(c.list.Cursor) == "" {
		c.list.Selected = "" // whatever will be there
	}
	return true
}

func (c *cacheLevel) view(e *page.Env, w, h int) []string {
	empty := "Nothing is held."
	if c.filter.Text != "" {
		empty = page.NoMatch("objects", c.filter)
	} else if !c.window.Synced {
		empty = "Listing…"
	}
	rows := cacheRows{c, e}
	return widget.Beside(e.Theme, w, h, func(w, h int) []string { return c.list.View(e.Theme, rows, w, h, empty) },
		func(w int) []widget.Line { return c.detail(e) })
}

// detail is the object under the cursor in short, for a wide screen.
func (c *cacheLevel) detail(*page.Env) []widget.Line {
	row, ok := c.current()
	switch {
	case !ok:
		return nil
	case versionID(row) == c.shown:
		return c.drawn
	}
	return []widget.Line{widget.Heading(row.String())}
}

// cacheDrawn brings the object under the cursor.
type cacheDrawn struct {
	of    *cacheLevel
	id    string
	lines []widget.Line
}

// versionID tells a row of an object from one of its other versions.
func versionID(row port.CacheRow) string { return row.Key() + " " + row.ResourceVersion }

// drawObject reads the object under the cursor, where it is shown and another one
// than before. One that comes too late is dropped.
func (c *cacheLevel) drawObject() tea.Cmd {
	row, ok := c.current()
	id := versionID(row)
	if !c.wide || !ok || id == c.shown || id == c.drawing {
		return nil
	}
	c.drawing = id
	cache := c.cache
	return func() tea.Msg {
		return page.ResultMsg{Page: page.Informers, Msg: cacheDrawn{c, id, objectLines(cache, row)}}
	}
}

func objectLines(cache port.Cache, row port.CacheRow) []widget.Line {
	out := []widget.Line{widget.Heading(row.String())}
	o, ok := cache.Object(row.Namespace, row.Name)
	if !ok || o.Content == nil {
		return out
	}
	text, err := render.YAML(o.Content)
	if err != nil {
		return append(out, widget.Line{widget.Bad.Of(" " + err.Error())})
	}
	for _, s := range strings.SplitN(text, "\n", 200) {
		out = append(out, widget.Line{widget.Text.Of(" " + s)})
	}
	return out
}

func (c *cacheLevel) current() (port.CacheRow, bool) {
	return cacheRows{cacheLevel: c}.row(c.list.Cursor)
}

func (c *cacheLevel) under() page.Subject {
	row, ok := c.current()
	if !ok {
		return page.Subject{}
	}
	return page.Subject{Kind: page.OnObject, Object: row.Ref, Name: row.Name, Informer: c.typ}
}

func (c *cacheLevel) plain(e *page.Env) []page.Row {
	r := cacheRows{c, e}
	out := page.PlainRows(&c.list, r)
	return slices.DeleteFunc(out, func(p page.Row) bool { return p.ID == "" })
}
