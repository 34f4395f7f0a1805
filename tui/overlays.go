package tui

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// overlay is a text over the page, or over another text.
type overlay struct {
	*widget.TextView
	// refresh makes it anew while it is open, about every second; nil where it
	// stays as it is.
	refresh func(e *page.Env) *widget.TextView
	// extra are keys of its own.
	extra func(e *page.Env) []page.Action
	// isOutput: it is what the command prints, and grows.
	isOutput bool
	// isHelp: it lists keys itself.
	isHelp bool
	// under is the text that it was opened over.
	under *overlay
}

// actions are the keys while a text is open.
func (v *overlay) actions(m *model) []page.Action {
	var own []page.Action
	if v.extra != nil {
		own = v.extra(m.env)
	}
	return append(own, []page.Action{
		{Keys: []string{"esc", "q"}, Label: "close", Help: "Close the text.", Do: func() tea.Cmd { m.text = v.under; return nil }},
		{Keys: []string{"/"}, Label: "search", Help: "Search in the text; n and N go on.", Do: func() tea.Cmd {
			return page.Send(page.PromptMsg{Label: "search: ", Value: v.Searched(), Done: func(s string) tea.Cmd {
				if !v.SearchFor(s) {
					return page.Complain(fmt.Sprintf("%q is not in this text", s))
				}
				return nil
			}})
		}},
		{Keys: []string{"c"}, Label: "copy", Help: "Copy the text.", Off: m.env.Without(m.options.Copy != nil), Do: func() tea.Cmd { return m.copy(v.Text(), "the text") }},
	}...)
}

// help lists every key of the page and of the program, from the tables that the
// dispatcher uses.
func (m *model) help() tea.Cmd {
	row := m.table[m.shown-1]
	if m.text != nil {
		return m.textHelp()
	}
	own, all, verbs := m.page().Actions(m.env), m.actions(), m.verbs()
	return m.showHelp(row.name, func(w int) []widget.Line {
		out := widget.Indent(widget.Wrapped(row.about, min(w-2, 100), widget.Text), 1)
		out = append(out, widget.Line{}, widget.Line{widget.Title.Of(" Keys of this page")})
		out = append(out, keyLines(own, w)...)
		out = append(out, widget.Line{}, widget.Line{widget.Title.Of(" Keys everywhere")})
		out = append(out, keyLines(all, w)...)
		out = append(out, keyLines([]page.Action{
			{Keys: []string{"↑", "↓", "j", "k"}, Help: "Move the cursor; g and G to the ends, PgUp and PgDn, ctrl-u and ctrl-d."},
			{Keys: []string{"ctrl+c"}, Help: "Quit at once."}, {Keys: []string{"ctrl+z"}, Help: "Suspend; fg comes back."},
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
		out = append(out, keyLines([]page.Action{
			{Keys: []string{"↑", "↓", "j", "k"}, Help: "Scroll; g and G to the ends, PgUp, PgDn and space, ctrl-u and ctrl-d."},
			{Keys: []string{"n", "N"}, Help: "Go to the next line with what was searched for, or the one before."},
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

func keyLines(actions []page.Action, w int) []widget.Line {
	var out []widget.Line
	for _, a := range actions {
		names := make([]string, len(a.Keys))
		for i, k := range a.Keys {
			names[i] = page.KeyName(k)
		}
		out = append(out, helpLine(strings.Join(names, " "), a.Help, a.Off, w)...)
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
func (m *model) yaml(s page.Subject) tea.Cmd {
	e := m.env
	title := fmt.Sprintf("%s %s", s.Kind, s.Name)
	switch {
	case s.Kind == page.OnController:
		return showYAML(title, e.Snap.Controller(s.Controller))
	case s.Kind == page.OnKey:
		return showYAML(title, e.Snap.Key(s.Controller, s.Queue, s.Key))
	case s.Kind == page.OnInformer:
		informer, _ := e.Snap.Informers.Get(s.Informer)
		return showYAML(title, informer)
	case s.Object.Resource != "" && s.Kind != page.OnWrite:
		return m.objectYAML(s)
	case s.Seq != 0:
		for w := range e.Snap.Writes.Backward() {
			if w.Seq == s.Seq {
				return showYAML(title, w)
			}
		}
	}
	return page.Complain("there is no YAML of this " + string(s.Kind))
}

func (m *model) objectYAML(s page.Subject) tea.Cmd {
	e := m.env
	title := s.Object.String() + ", as the cache holds it"
	if e.Caches != nil {
		if o := e.Caches.Object(s.Object); o != nil {
			return showYAML(title, o)
		}
		caches, ctx := e.Caches, e.Ctx
		return func() tea.Msg { return liveYAML(ctx, caches, s.Object) }
	}
	if o := e.Snap.Object(s.Object); o != nil {
		return showYAML(s.Object.String()+", as the recording knows it", o)
	}
	return page.Complain(e.Without(false))
}

func liveYAML(ctx context.Context, caches port.Caches, ref state.Ref) tea.Msg {
	o, err := caches.Live(ctx, ref)
	if err != nil {
		return page.SayMsg{Text: err.Error(), Bad: true}
	}
	return showYAML(ref.String()+", from the server: no cache holds the whole object", o)()
}

func showYAML(title string, v any) tea.Cmd {
	text, err := render.YAML(v)
	if err != nil {
		return page.Complain("write " + title + " as YAML: " + err.Error())
	}
	return page.Send(page.ShowMsg{Text: widget.TextOf(title, text)})
}

// explain shows the paragraph about what the cursor is on.
func (m *model) explain(s page.Subject) tea.Cmd {
	key := s.Explain
	if key == "" {
		key = string(s.Kind)
	}
	if key == "" {
		key = "page:" + m.table[m.shown-1].name
	}
	about, ok := explanations()[key]
	if !ok {
		about = explanation{title: m.table[m.shown-1].name, text: m.table[m.shown-1].about}
	}
	return page.Send(page.ShowMsg{Text: widget.ProseOf("What is this? "+about.title, strings.Split(about.text, "\n\n")...)})
}
