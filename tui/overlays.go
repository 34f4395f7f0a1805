package tui

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// overlay is a text over the page, or over another text.
type overlay struct {
	*widget.TextView
	// refresh makes it anew while it is open, about every second; nil where it
	// stays as it is.
	refresh func(e *env) *widget.TextView
	// extra are keys of its own.
	extra func(e *env) []action
	// isOutput: it is what the command prints, and grows.
	isOutput bool
	// isHelp: it lists keys itself.
	isHelp bool
	// under is the text that it was opened over.
	under *overlay
}

// actions are the keys while a text is open.
func (v *overlay) actions(m *model) []action {
	var own []action
	if v.extra != nil {
		own = v.extra(m.env)
	}
	return append(own, []action{
		{keys: []string{"esc", "q"}, label: "close", help: "Close the text.", do: func() tea.Cmd { m.text = v.under; return nil }},
		{keys: []string{"/"}, label: "search", help: "Search in the text; n and N go on.", do: func() tea.Cmd {
			return send(promptMsg{Label: "search: ", Value: v.Searched(), Done: func(s string) tea.Cmd {
				if !v.SearchFor(s) {
					return complain(fmt.Sprintf("%q is not in this text", s))
				}
				return nil
			}})
		}},
		{keys: []string{"c"}, label: "copy", help: "Copy the text.", off: m.env.without(m.options.Copy != nil), do: func() tea.Cmd { return m.copy(v.Text(), "the text") }},
	}...)
}

// help lists every key of the page and of the program, from the tables that the
// dispatcher uses.
func (m *model) help() tea.Cmd {
	row := m.table[m.shown-1]
	if m.text != nil {
		return m.textHelp()
	}
	own, all, verbs := m.page().actions(m.env), m.actions(), m.verbs()
	return m.showHelp(row.name, func(w int) []widget.Line {
		out := widget.Indent(widget.Wrapped(row.about, min(w-2, 100), widget.Text), 1)
		out = append(out, widget.Line{}, widget.Line{widget.Title.Of(" Keys of this page")})
		out = append(out, keyLines(own, w)...)
		out = append(out, widget.Line{}, widget.Line{widget.Title.Of(" Keys everywhere")})
		out = append(out, keyLines(all, w)...)
		out = append(out, keyLines([]action{
			{keys: []string{"↑", "↓", "j", "k"}, help: "Move the cursor; g and G to the ends, PgUp and PgDn, ctrl-u and ctrl-d."},
			{keys: []string{"ctrl+c"}, help: "Quit at once."}, {keys: []string{"ctrl+z"}, help: "Suspend; fg comes back."},
		}, w)...)
		out = append(out, widget.Line{}, widget.Line{widget.Title.Of(" Commands after :")})
		for _, v := range verbs {
			out = append(out, helpLine(strings.TrimSpace(v.words[0]+" "+v.args), v.help, v.off, w)...)
		}
		return append(out, helpLine("PAGE, TYPE", "Go to a page by its name; open the cache of a type, such as pods.", "", w)...)
	})
}

// textHelp lists the keys of the text that is open.
func (m *model) textHelp() tea.Cmd {
	own, all := m.text.actions(m), m.overText()
	return m.showHelp(m.text.Title, func(w int) []widget.Line {
		out := append([]widget.Line{{widget.Title.Of(" Keys of this text")}}, keyLines(own, w)...)
		out = append(out, keyLines([]action{
			{keys: []string{"↑", "↓", "j", "k"}, help: "Scroll; g and G to the ends, PgUp, PgDn and space, ctrl-u and ctrl-d."},
			{keys: []string{"n", "N"}, help: "Go to the next line with what was searched for, or the one before."},
		}, w)...)
		out = append(out, widget.Line{}, widget.Line{widget.Title.Of(" Keys everywhere")})
		return append(out, keyLines(all, w)...)
	})
}

// showHelp opens a list of keys.
func (m *model) showHelp(of string, lines func(w int) []widget.Line) tea.Cmd {
	m.over(&overlay{TextView: &widget.TextView{Title: "Help: " + of, Lines: lines}, isHelp: true})
	return nil
}

func keyLines(actions []action, w int) []widget.Line {
	var out []widget.Line
	for _, a := range actions {
		names := make([]string, len(a.keys))
		for i, k := range a.keys {
			names[i] = keyName(k)
		}
		out = append(out, helpLine(strings.Join(names, " "), a.help, a.off, w)...)
	}
	return out
}

func helpLine(key, help, off string, w int) []widget.Line {
	const width = 14
	if off != "" {
		help += " Not now: " + off + "."
	}
	parts := widget.Wrap(help, max(min(w, 110)-width-3, 20))
	var out []widget.Line
	for i, p := range parts {
		if i > 0 {
			key = ""
		}
		style := widget.Text
		if off != "" {
			style = widget.Dim
		}
		out = append(out, widget.Line{widget.BarKey.Of("  " + render.Pad(key, width) + " "), style.Of(p)})
	}
	return out
}

// yaml shows what the cursor is on: an object as the cache holds it, or what the
// journal knows.
func (m *model) yaml(s subject) tea.Cmd {
	e := m.env
	title := fmt.Sprintf("%s %s", s.kind, s.name)
	switch {
	case s.kind == onController:
		return showYAML(title, e.snap.Controller(s.controller))
	case s.kind == onKey:
		return showYAML(title, e.snap.Key(s.controller, s.queue, s.key))
	case s.kind == onInformer:
		informer, _ := e.snap.Informers.Get(s.informer)
		return showYAML(title, informer)
	case s.object.Resource != "" && s.kind != onWrite:
		return m.objectYAML(s)
	case s.seq != 0:
		for w := range e.snap.Writes.Backward() {
			if w.Seq == s.seq {
				return showYAML(title, w)
			}
		}
	}
	return complain("there is no YAML of this " + string(s.kind))
}

func (m *model) objectYAML(s subject) tea.Cmd {
	e := m.env
	title := s.object.String() + ", as the cache holds it"
	if e.Caches != nil {
		if o := e.Caches.Object(s.object); o != nil {
			return showYAML(title, o)
		}
		caches, ctx := e.Caches, e.ctx
		return func() tea.Msg { return liveYAML(ctx, caches, s.object) }
	}
	if o := e.snap.Object(s.object); o != nil {
		return showYAML(s.object.String()+", as the recording knows it", o)
	}
	return complain(e.without(false))
}

func liveYAML(ctx context.Context, caches Caches, ref state.Ref) tea.Msg {
	o, err := caches.Live(ctx, ref)
	if err != nil {
		return sayMsg{text: err.Error(), bad: true}
	}
	return showYAML(ref.String()+", from the server: no cache holds the whole object", o)()
}

func showYAML(title string, v any) tea.Cmd {
	text, err := render.YAML(v)
	if err != nil {
		return complain("write " + title + " as YAML: " + err.Error())
	}
	return send(showMsg{text: widget.TextOf(title, text)})
}

// explain shows the paragraph about what the cursor is on.
func (m *model) explain(s subject) tea.Cmd {
	key := s.explain
	if key == "" {
		key = string(s.kind)
	}
	if key == "" {
		key = "page:" + m.table[m.shown-1].name
	}
	about, ok := explanations()[key]
	if !ok {
		about = explanation{title: m.table[m.shown-1].name, text: m.table[m.shown-1].about}
	}
	return send(showMsg{text: widget.ProseOf("What is this? "+about.title, strings.Split(about.text, "\n\n")...)})
}
