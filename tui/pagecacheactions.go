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
			return send(openMsg{func(e *env) *widget.TextView {
				return &widget.TextView{Title: "Informer of " + c.typ, Lines: func(w int) []widget.Line { return storeDetail(e, c.stats, w) }}
			}})
		}},
	}
}

func (c *cacheLevel) chooseColumns() tea.Cmd {
	return send(promptMsg{Label: "columns: ", Value: strings.ToLower(strings.Join(c.columns, " ")),
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
		view := widget.TextOf(ref.String()+", as the cache holds it", text)
		extra := func(e *env) []action {
			return []action{
				{keys: []string{"d"}, label: "diff", help: "Compare it with the API server's.", off: e.without(e.Caches != nil), do: func() tea.Cmd { return c.compare(e, ref) }},
				{keys: []string{"w"}, label: "who", help: "Show who owns each field.", do: func() tea.Cmd { return c.who(e, ref) }},
			}
		}
		return showMsg{text: view, extra: extra}
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
		lines := make([]widget.Line, len(o.Fields))
		for i, f := range o.Fields {
			operation := f.Operation
			if f.Subresource != "" {
				operation += " of " + f.Subresource
			}
			lines[i] = widget.Line{widget.Accent.Of(" " + render.Pad(render.Sanitise(f.Manager), min(width, 40)) + "  "), widget.Dim.Of(render.Pad(operation, 16) + "  "), widget.Text.Of(f.Path)}
		}
		return showMsg{text: widget.TextView{Title: title, Lines: func(int) []widget.Line { return lines }}}
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
		return showMsg{text: widget.TextView{Title: ref.String() + ": cache against API server", Lines: func(int) []widget.Line { return append(out, changeLines(v.Changes)...) }}}
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
