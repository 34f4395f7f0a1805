package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// cacheLevel is what one cache holds, below page 3. It has a window of rows and
// asks for another when the cursor leaves it or the cache has changed.
type cacheLevel struct {
	typ    string
	cache  Cache
	list   list
	filter filter
	query  CacheQuery
	window CacheWindow
	// edition is that of the window; loading says that one is under way, again
	// that another must follow it.
	edition        uint64
	loading, again bool
	failed         error
	columns        []string
	// drawn is the detail of the object that shown names, with its version.
	shown string
	drawn []line
}

// cacheColumns are all columns, in their order.
func cacheColumns() []column {
	return []column{
		{title: "NAMESPACE", max: 24, drop: 3},
		{title: "NAME", grow: true, min: 28},
		{title: "READY", max: 12},
		{title: "STATUS", max: 24},
		{title: "AGE", aging: true, right: true, min: 4},
		{title: "CHANGED", aging: true, right: true, drop: 2},
		{title: "VERSION", right: true, max: 14, drop: 4},
		{title: "OWNER", max: 40, drop: 1},
		{title: "FINALIZERS", right: true, drop: 5},
		{title: "LABELS", max: 60, drop: 1},
	}
}

// shownAtFirst are the columns before the user chooses. A journal knows no status.
func (c *cacheLevel) shownAtFirst() []string {
	if _, recorded := c.cache.(*journalCache); recorded {
		return []string{"NAMESPACE", "NAME", "CHANGED", "VERSION", "OWNER"}
	}
	return []string{"NAMESPACE", "NAME", "READY", "STATUS", "AGE", "CHANGED", "VERSION", "OWNER"}
}

func newCacheLevel(typ string, cache Cache) *cacheLevel {
	c := &cacheLevel{typ: typ, cache: cache}
	c.choose(c.shownAtFirst())
	return c
}

func (c *cacheLevel) choose(names []string) {
	c.columns, c.list.columns = nil, nil
	for _, column := range cacheColumns() {
		if slices.Contains(names, column.title) {
			c.columns = append(c.columns, column.title)
			c.list.columns = append(c.list.columns, column)
		}
	}
}

// cacheRows is the window as rows of a list: those outside are not loaded.
type cacheRows struct {
	*cacheLevel
	env *env
}

func (r cacheRows) Len() int { return r.window.Total }

func (r cacheRows) row(i int) (CacheRow, bool) {
	if at := i - r.window.Offset; at >= 0 && at < len(r.window.Rows) {
		return r.window.Rows[at], true
	}
	return CacheRow{}, false
}

func (r cacheRows) ID(i int) string {
	row, ok := r.row(i)
	if !ok {
		return ""
	}
	return row.Key()
}

func (r cacheRows) Find(id string) int {
	for i, row := range r.window.Rows {
		if row.Key() == id {
			return r.window.Offset + i
		}
	}
	return -1
}

func (r cacheRows) Cells(i int) []cell {
	row, ok := r.row(i)
	if !ok {
		return []cell{word("…", styleDim)}
	}
	out := make([]cell, len(r.columns))
	for j, name := range r.columns {
		out[j] = r.cell(row, name)
	}
	return out
}

func (r cacheRows) cell(row CacheRow, name string) cell {
	e := r.env
	switch name {
	case "NAMESPACE":
		return word(row.Namespace, styleDim)
	case "NAME":
		return plainCell(row.Name)
	case "READY":
		if row.Status != nil {
			return word(row.Status.Ready, healthStyle(row.Status.Health))
		}
	case "STATUS":
		switch {
		case !row.Deleting.IsZero():
			return word("deleting", styleWarn)
		case row.Status != nil:
			return word(row.Status.State, healthStyle(row.Status.Health))
		}
	case "AGE":
		return plainCell(e.ago(row.Created))
	case "CHANGED":
		return plainCell(e.ago(row.Changed))
	case "VERSION":
		return word(row.ResourceVersion, styleDim)
	case "OWNER":
		if row.Owner != nil {
			return word(row.Owner.Resource+"/"+row.Owner.Name, styleDim)
		}
	case "FINALIZERS":
		return word(count(row.Finalizers), warnIf(!row.Deleting.IsZero()))
	case "LABELS":
		return word(labelText(row.Labels), styleDim)
	}
	return nil
}

func healthStyle(h state.Health) styleName {
	switch h {
	case state.HealthReady:
		return styleGood
	case state.HealthProgressing:
		return styleWarn
	case state.HealthFailed:
		return styleBad
	}
	return styleText
}

func labelText(labels map[string]string) string {
	out := make([]string, 0, len(labels))
	for k, v := range labels {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// cacheLoaded brings a window; at is the place of the selected object.
type cacheLoaded struct {
	of       *cacheLevel
	query    CacheQuery
	window   CacheWindow
	edition  uint64
	selected string
	at       int
	found    bool
	err      error
}

// load asks for the rows around the cursor, one question at a time.
func (c *cacheLevel) load(e *env) tea.Cmd {
	if c.loading {
		c.again = true
		return nil
	}
	c.loading, c.again = true, false
	cache, query, selected, top, height := c.cache, c.query, c.list.selected, c.list.top, max(c.list.height, 20)
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
		return pageMsg{pageInformers, m}
	}
}

func splitKey(key string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return namespace, name
	}
	return "", key
}

func (c *cacheLevel) update(msg tea.Msg, e *env) tea.Cmd {
	switch msg := msg.(type) {
	case cacheLoaded:
		return c.take(msg, e)
	case shownMsg:
		return c.load(e)
	case snapshotMsg, tickMsg:
		if j, ok := c.cache.(*journalCache); ok {
			j.snap.Store(e.snap)
		}
		if c.cache.Edition() != c.edition || !c.window.Built || !c.window.Synced {
			return c.load(e)
		}
	case cursorMsg:
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
	last := min(c.list.top+c.list.height, r.Len()) - 1
	if last < 0 {
		return true
	}
	_, first := r.row(c.list.top)
	_, end := r.row(last)
	return first && end
}

func (c *cacheLevel) take(m cacheLoaded, e *env) tea.Cmd {
	if m.of != c {
		return nil
	}
	c.loading = false
	if m.query == c.query {
		c.failed = m.err
		if m.err == nil {
			c.window, c.edition = m.window, m.edition
			if m.found && m.selected == c.list.selected {
				c.list.top += m.at - c.list.cursor
				c.list.cursor = m.at
			}
			c.list.sync(cacheRows{c, e})
		}
	}
	if c.again || m.query != c.query {
		return c.load(e)
	}
	return nil
}

// queryOf is a filter as a query of a cache; the order stays.
func queryOf(f filter, q CacheQuery) CacheQuery {
	out := CacheQuery{Sort: q.Sort, Descending: q.Descending, Labels: f.labels}
	text := f.text
	switch {
	case f.labels != "" || text == "-l":
		return out
	case strings.HasPrefix(text, "-f "):
		out.Text, out.Fuzzy = strings.TrimSpace(text[3:]), true
		return out
	}
	out.Text, out.Invert = strings.CutPrefix(text, "!")
	if out.Regexp = isPattern(out.Text); out.Regexp {
		out.Text = "(?i)" + out.Text
	}
	return out
}

func (c *cacheLevel) setFilter(f filter) { c.filter = f }

func (c *cacheLevel) title() string {
	s := c.cache.Stats()
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
	if !c.list.key(r, key) {
		return false
	}
	if r.ID(c.list.cursor) == "" {
		c.list.selected = "" // whatever will be there
	}
	return true
}

func (c *cacheLevel) view(e *env, w, h int) []string {
	empty := "Nothing is held."
	if c.filter.text != "" {
		empty = "Nothing that matches the filter is held."
	} else if !c.window.Synced {
		empty = "Listing…"
	}
	rows := cacheRows{c, e}
	return beside(e.Theme, w, h, func(w, h int) []string { return c.list.view(e.Theme, rows, w, h, empty) },
		func(w int) []line { return c.detail(e) })
}

// detail is the object under the cursor in short, for a wide screen.
func (c *cacheLevel) detail(*env) []line {
	row, ok := cacheRows{cacheLevel: c}.row(c.list.cursor)
	if !ok {
		return nil
	}
	if id := row.Key() + " " + row.ResourceVersion; id != c.shown || c.drawn == nil {
		c.shown, c.drawn = id, c.draw(row)
	}
	return c.drawn
}

func (c *cacheLevel) draw(row CacheRow) []line {
	o, ok := c.cache.Object(row.Namespace, row.Name)
	if !ok || o.Content == nil {
		return []line{heading(row.String())}
	}
	text, err := render.YAML(o.Content)
	if err != nil {
		return []line{heading(row.String()), {{" " + err.Error(), styleBad}}}
	}
	out := []line{heading(row.String())}
	for _, s := range strings.SplitN(text, "\n", 200) {
		out = append(out, line{{" " + s, styleText}})
	}
	return out
}

func (c *cacheLevel) under() subject {
	row, ok := cacheRows{cacheLevel: c}.row(c.list.cursor)
	if !ok {
		return subject{}
	}
	return subject{kind: onObject, object: row.Ref, name: row.Name, informer: c.typ}
}

func (c *cacheLevel) plain(e *env) []plainRow {
	r := cacheRows{c, e}
	out := plainRows(&c.list, r)
	return slices.DeleteFunc(out, func(p plainRow) bool { return p.id == "" })
}

// sorts are the orders that "o" goes through.
func sorts() []string { return []string{"", "name", "age", "changed", "resourceVersion"} }

func (c *cacheLevel) actions(e *env) []action {
	s := c.under()
	nothing := ""
	if s.kind == onNothing {
		nothing = errNothing.Error()
	}
	live := firstOf(nothing, e.without(e.Caches != nil))
	return []action{
		{keys: []string{"enter"}, label: "object", help: "Show the object as the cache holds it, without managedFields.", off: nothing, do: func() tea.Cmd { return c.object(s.object) }},
		{keys: []string{"d"}, label: "diff", help: "Compare the object with the API server's: is the cache stale?", off: live, do: func() tea.Cmd { return c.compare(e, s.object) }},
		{keys: []string{"w"}, label: "who", help: "Show who owns each field.", off: nothing, do: func() tea.Cmd { return c.who(e, s.object) }},
		{keys: []string{"O"}, label: "owners", help: "Show the object's owners and dependents.", off: nothing, do: func() tea.Cmd { return send(jumpMsg{pageTree, s}) }},
		{keys: []string{"T"}, label: "timeline", help: "Follow the object in the timeline.", off: nothing, do: func() tea.Cmd { return send(jumpMsg{pageTimeline, s}) }},
		{keys: []string{"o"}, label: "sort", help: "Sort by namespace, name, age, last change, resourceVersion.", do: func() tea.Cmd {
			c.query.Sort = sorts()[(slices.Index(sorts(), c.query.Sort)+1)%len(sorts())]
			return tea.Batch(c.load(e), say("Sorted by "+cmp.Or(c.query.Sort, "namespace and name")+"."))
		}},
		{keys: []string{"ctrl+r"}, label: "reverse", help: "Reverse the order.", do: func() tea.Cmd { c.query.Descending = !c.query.Descending; return c.load(e) }},
		{keys: []string{"|"}, help: "Choose the columns.", do: c.chooseColumns},
		{keys: []string{"D"}, help: "Show all that is known of the informer.", do: func() tea.Cmd {
			return send(openMsg{func(e *env) *textView {
				return &textView{title: "Informer of " + c.typ, lines: func(w int) []line { return storeDetail(e, c.cache.Stats(), w) }}
			}})
		}},
	}
}

func (c *cacheLevel) chooseColumns() tea.Cmd {
	return send(promptMsg{label: "columns: ", value: strings.ToLower(strings.Join(c.columns, " ")),
		complete: func(typed string) []string {
			at := strings.LastIndex(typed, " ") + 1
			var out []string
			for _, column := range cacheColumns() {
				if name := strings.ToLower(column.title); strings.HasPrefix(name, typed[at:]) {
					out = append(out, typed[:at]+name)
				}
			}
			return out
		},
		done: func(typed string) tea.Cmd {
			names := strings.Fields(strings.ToUpper(strings.ReplaceAll(typed, ",", " ")))
			for _, name := range names {
				if !slices.ContainsFunc(cacheColumns(), func(column column) bool { return column.title == name }) {
					return complain(fmt.Sprintf("there is no column %q", strings.ToLower(name)))
				}
			}
			if len(names) == 0 {
				names = c.shownAtFirst()
			}
			c.choose(names)
			return nil
		},
	})
}

// object shows one object as the cache holds it.
func (c *cacheLevel) object(ref state.Ref) tea.Cmd {
	cache := c.cache
	return func() tea.Msg {
		o, ok := cache.Object(ref.Namespace, ref.Name)
		if !ok {
			return sayMsg{text: ref.String() + " is not in the cache any more", bad: true}
		}
		text, err := render.YAML(o.Content)
		if err != nil {
			return sayMsg{text: err.Error(), bad: true}
		}
		view := textOf(ref.String()+", as the cache holds it", text)
		view.extra = func(e *env) []action {
			return []action{
				{keys: []string{"d"}, label: "diff", help: "Compare it with the API server's.", off: e.without(e.Caches != nil), do: func() tea.Cmd { return c.compare(e, ref) }},
				{keys: []string{"w"}, label: "who", help: "Show who owns each field.", do: func() tea.Cmd { return c.who(e, ref) }},
			}
		}
		return showMsg{view}
	}
}

// who shows the managers of the fields. Where a cache was filled without them, as
// those of loops are, the server is asked.
func (c *cacheLevel) who(e *env, ref state.Ref) tea.Cmd {
	cache, ctx := c.cache, e.ctx
	return func() tea.Msg {
		o, ok := cache.Object(ref.Namespace, ref.Name)
		if !ok {
			return sayMsg{text: ref.String() + " is not in the cache any more", bad: true}
		}
		title := "Who owns the fields of " + ref.String()
		if asker, ok := cache.(FieldAsker); ok && len(o.Fields) == 0 {
			var err error
			if o.Fields, err = asker.Fields(ctx, ref.Namespace, ref.Name); err != nil {
				return sayMsg{text: err.Error(), bad: true}
			}
			title += ", by the server"
		}
		if len(o.Fields) == 0 {
			return sayMsg{text: "nothing is recorded of who owns the fields of " + ref.String(), bad: true}
		}
		width := 0
		for _, f := range o.Fields {
			width = max(width, render.Width(render.Sanitise(f.Manager)))
		}
		lines := make([]line, len(o.Fields))
		for i, f := range o.Fields {
			operation := f.Operation
			if f.Subresource != "" {
				operation += " of " + f.Subresource
			}
			lines[i] = line{{" " + render.Pad(render.Sanitise(f.Manager), min(width, 40)) + "  ", styleAccent}, {render.Pad(operation, 16) + "  ", styleDim}, {f.Path, styleText}}
		}
		return showMsg{textView{title: title, lines: func(int) []line { return lines }}}
	}
}

// compare shows what differs between the cache and the server.
func (c *cacheLevel) compare(e *env, ref state.Ref) tea.Cmd {
	cache, ctx := c.cache, e.ctx
	return func() tea.Msg {
		v, err := cache.Compare(ctx, ref.Namespace, ref.Name)
		if err != nil {
			return sayMsg{text: err.Error(), bad: true}
		}
		out := []line{{{" The cache is " + string(v.Freshness) + ".", styleBold}}}
		switch {
		case v.Reason != "":
			out = append(out, line{{" " + v.Reason, styleText}})
		case !v.Held:
			out = append(out, line{{" The API server has the object, the cache does not hold it.", styleWarn}})
		case !v.Live:
			out = append(out, line{{" The cache holds the object, the API server does not have it.", styleWarn}})
		case len(v.Changes) == 0:
			out = append(out, line{{" No field differs.", styleGood}})
		}
		out = append(out, line{})
		return showMsg{textView{title: ref.String() + ": cache against API server", lines: func(int) []line { return append(out, changeLines(v.Changes)...) }}}
	}
}

// changeLines draws field changes: from the old value to the new.
func changeLines(changes []state.FieldChange) []line {
	var out []line
	for _, c := range changes {
		switch {
		case c.Old == "" && c.New == "":
			out = append(out, line{{" " + c.Path, styleDim}})
		case c.Old == "":
			out = append(out, line{{" + " + c.Path + ": " + c.New, styleGood}})
		case c.New == "":
			out = append(out, line{{" - " + c.Path + ": " + c.Old, styleBad}})
		default:
			out = append(out, line{{" ~ " + c.Path + ": ", styleText}, {c.Old, styleBad}, {" → ", styleDim}, {c.New, styleGood}})
		}
	}
	return out
}
