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

// sorts are the orders that "o" goes through.
func sorts() []string { return []string{"", "name", "age", "changed", "resourceVersion"} }

func (c *cacheLevel) actions(e *page.Env) []page.Action {
	s := c.under()
	nothing := ""
	if s.Kind == page.OnNothing {
		nothing = page.ErrNothing.Error()
	}
	live := page.FirstOf(nothing, e.Without(e.Caches != nil))
	return []page.Action{
		{Keys: []string{"enter"}, Label: "object", Help: "Show the object as the cache holds it, without managedFields.", Off: nothing, Do: func() tea.Cmd { return c.object(s.Object) }},
		{Keys: []string{"d"}, Label: "diff", Help: "Compare the object with the API server's: is the cache stale?", Off: live, Do: func() tea.Cmd { return c.compare(e, s.Object) }},
		{Keys: []string{"w"}, Label: "who", Help: "Show who owns each field.", Off: nothing, Do: func() tea.Cmd { return c.who(e, s.Object) }},
		{Keys: []string{"O"}, Label: "owners", Help: "Show the object's owners and dependents.", Off: nothing, Do: func() tea.Cmd { return page.Send(page.JumpMsg{Page: page.Tree, To: s}) }},
		{Keys: []string{"T"}, Label: "timeline", Help: "Follow the object in the timeline.", Off: nothing, Do: func() tea.Cmd { return page.Send(page.JumpMsg{Page: page.Timeline, To: s}) }},
		{Keys: []string{"o"}, Label: "sort", Help: "Sort by namespace, name, age, last change, resourceVersion.", Do: func() tea.Cmd {
			c.query.Sort = sorts()[(slices.Index(sorts(), c.query.Sort)+1)%len(sorts())]
			c.list.ToTop()
			return tea.Batch(c.load(e), page.Say("Sorted by "+cmp.Or(c.query.Sort, "namespace and name")+"."))
		}},
		{Keys: []string{"ctrl+r"}, Label: "reverse", Help: "Reverse the order.", Do: func() tea.Cmd { c.query.Descending = !c.query.Descending; c.list.ToTop(); return c.load(e) }},
		{Keys: []string{"|"}, Help: "Choose the columns.", Do: c.chooseColumns},
		{Keys: []string{"D"}, Help: "Show all details of the informer.", Do: func() tea.Cmd {
			return page.Send(page.OpenMsg{View: func(e *page.Env) *widget.TextView {
				return &widget.TextView{Title: "Informer of " + c.typ, Lines: func(w int) []widget.Line { return storeDetail(e, c.stats, w) }}
			}})
		}},
	}
}

func (c *cacheLevel) chooseColumns() tea.Cmd {
	return page.Send(page.PromptMsg{Label: "columns: ", Value: strings.ToLower(strings.Join(c.columns, " ")),
		Complete: func(typed string) []string {
			at := strings.LastIndex(typed, " ") + 1
			var out []string
			for _, column := range cacheColumns() {
				if name := strings.ToLower(column.Title); strings.HasPrefix(name, typed[at:]) {
					out = append(out, typed[:at]+name)
				}
			}
			return out
		},
		Done: func(typed string) tea.Cmd {
			names := strings.Fields(strings.ToUpper(strings.ReplaceAll(typed, ",", " ")))
			for _, name := range names {
				if !slices.ContainsFunc(cacheColumns(), func(column widget.Column) bool { return column.Title == name }) {
					return page.Complain(fmt.Sprintf("there is no column %q", strings.ToLower(name)))
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
			return page.SayMsg{Text: ref.String() + " is not in the cache any more", Bad: true}
		}
		text, err := render.YAML(o.Content)
		if err != nil {
			return page.SayMsg{Text: err.Error(), Bad: true}
		}
		view := widget.TextOf(ref.String()+", as the cache holds it", text)
		extra := func(e *page.Env) []page.Action {
			return []page.Action{
				{Keys: []string{"d"}, Label: "diff", Help: "Compare it with the API server's.", Off: e.Without(e.Caches != nil), Do: func() tea.Cmd { return c.compare(e, ref) }},
				{Keys: []string{"w"}, Label: "who", Help: "Show who owns each field.", Do: func() tea.Cmd { return c.who(e, ref) }},
			}
		}
		return page.ShowMsg{Text: view, Extra: extra}
	}
}

// who shows the managers of the fields. Where a cache was filled without them, as
// those of loops are, the server is asked.
func (c *cacheLevel) who(e *page.Env, ref state.Ref) tea.Cmd {
	cache, ctx := c.cache, e.Ctx
	return func() tea.Msg {
		o, ok := cache.Object(ref.Namespace, ref.Name)
		if !ok {
			return page.SayMsg{Text: ref.String() + " is not in the cache any more", Bad: true}
		}
		title := "Who owns the fields of " + ref.String()
		if asker, ok := cache.(port.FieldAsker); ok && len(o.Fields) == 0 {
			var err error
			if o.Fields, err = asker.Fields(ctx, ref.Namespace, ref.Name); err != nil {
				return page.SayMsg{Text: err.Error(), Bad: true}
			}
			title += ", by the server"
		}
		if len(o.Fields) == 0 {
			return page.SayMsg{Text: "nothing is recorded of who owns the fields of " + ref.String(), Bad: true}
		}
		width := 0
		for _, f := range o.Fields {
			width = max(width, render.Width(render.Sanitise(f.Manager)))
		}
		lines := make([]widget.Line, len(o.Fields))
		for i, f := range o.Fields {
			operation := f.Operation
			if f.Subresource != "" {
				operation += " of " + f.Subresource
			}
			lines[i] = widget.Line{widget.Accent.Of(" " + render.Pad(render.Sanitise(f.Manager), min(width, 40)) + "  "), widget.Dim.Of(render.Pad(operation, 16) + "  "), widget.Text.Of(f.Path)}
		}
		return page.ShowMsg{Text: widget.TextView{Title: title, Lines: func(int) []widget.Line { return lines }}}
	}
}

// compare shows what differs between the cache and the server.
func (c *cacheLevel) compare(e *page.Env, ref state.Ref) tea.Cmd {
	cache, ctx := c.cache, e.Ctx
	return func() tea.Msg {
		v, err := cache.Compare(ctx, ref.Namespace, ref.Name)
		if err != nil {
			return page.SayMsg{Text: err.Error(), Bad: true}
		}
		out := []widget.Line{{widget.Bold.Of(" The cache is " + string(v.Freshness) + ".")}}
		switch {
		case v.Reason != "":
			out = append(out, widget.Line{widget.Text.Of(" " + v.Reason)})
		case !v.Held:
			out = append(out, widget.Line{widget.Warn.Of(" The API server has the object, the cache does not hold it.")})
		case !v.Live:
			out = append(out, widget.Line{widget.Warn.Of(" The cache holds the object, the API server does not have it.")})
		case len(v.Changes) == 0:
			out = append(out, widget.Line{widget.Good.Of(" No field differs.")})
		}
		out = append(out, widget.Line{})
		return page.ShowMsg{Text: widget.TextView{Title: ref.String() + ": cache against API server", Lines: func(int) []widget.Line { return append(out, changeLines(v.Changes)...) }}}
	}
}

// changeLines draws field changes: from the old value to the new.
func changeLines(changes []state.FieldChange) []widget.Line {
	var out []widget.Line
	for _, c := range changes {
		switch {
		case c.Old == "" && c.New == "":
			out = append(out, widget.Line{widget.Dim.Of(" " + c.Path)})
		case c.Old == "":
			out = append(out, widget.Line{widget.Good.Of(" + " + c.Path + ": " + c.New)})
		case c.New == "":
			out = append(out, widget.Line{widget.Bad.Of(" - " + c.Path + ": " + c.Old)})
		default:
			out = append(out, widget.Line{widget.Text.Of(" ~ " + c.Path + ": "), widget.Bad.Of(c.Old), widget.Dim.Of(" → "), widget.Good.Of(c.New)})
		}
	}
	return out
}
