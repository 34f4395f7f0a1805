package tree

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// cascadeView previews the deletion of one object. It lies over the tree.
type cascadeView struct {
	object document.OwnedObject
	policy document.CascadePolicy
	asking page.Asking
	// answers are kept by policy, so that going to and fro costs nothing.
	answers map[document.CascadePolicy]cascadeAnswer
	list    widget.List
}

// cascadeAnswer is a preview, with what is said of all of it.
type cascadeAnswer struct {
	policy  document.CascadePolicy
	cascade document.Cascade
	tally   string
	at      time.Time
	places  map[string]int
}

// cascadePolicies are the three ways of deletion, with their keys.
var cascadePolicies = [3]struct {
	key    string
	policy document.CascadePolicy
	help   string
}{
	{"b", document.CascadeBackground, "Preview a background deletion: the object goes first, then its dependents."},
	{"f", document.CascadeForeground, "Preview a foreground deletion: dependents that block it go first."},
	{"o", document.CascadeOrphan, "Preview an orphaning deletion: only the object goes; its dependents stay."},
}

// preview opens the view, with the policy that kubectl deletes with.
func (p *Page) preview(e *page.Env, o document.OwnedObject) tea.Cmd {
	p.cascade = &cascadeView{
		object: o, answers: map[document.CascadePolicy]cascadeAnswer{},
		list: widget.List{Columns: []widget.Column{
			{Title: "STEP", Right: true}, {Title: "FATE", Min: 8}, {Title: "OBJECT", Grow: true, Min: 24}, {Title: "WHY", Grow: true, Min: 20},
		}},
	}
	p.cascade.list.Resize(p.height)
	return p.cascade.choose(e, document.CascadeBackground)
}

// choose shows a policy, and asks where it was not asked yet.
func (v *cascadeView) choose(e *page.Env, policy document.CascadePolicy) tea.Cmd {
	v.policy = policy
	v.asking.Forget()
	if _, known := v.answers[policy]; known {
		v.list.Sync(v.rows())
		return nil
	}
	return v.ask(e)
}

func (v *cascadeView) ask(e *page.Env) tea.Cmd {
	owners, ref, policy, now := e.Owners, v.object.Ref, v.policy, e.Now
	return page.AskNow(&v.asking, e, page.Tree, func(ctx context.Context) (cascadeAnswer, error) {
		c, err := owners.Cascade(ctx, ref, policy)
		a := cascadeAnswer{policy: policy, cascade: c, at: now, places: make(map[string]int, len(c.Objects))}
		if err == nil {
			a.tally = render.CascadeTally(c.Objects)
			for i, o := range c.Objects {
				a.places[cascadeID(o)] = i
			}
		}
		return a, err
	})
}

func (v *cascadeView) took(e *page.Env, msg page.Answer[cascadeAnswer]) {
	if v.asking.Done(msg.Round, e.Now, msg.Err) && msg.Err == nil {
		v.answers[msg.Value.policy] = msg.Value
		v.list.Sync(v.rows())
	}
}

func cascadeID(o document.CascadeObject) string {
	if o.Object.UID != "" {
		return o.Object.UID
	}
	return o.Object.Ref.String()
}

// cascadeRows are the objects of an answer, found by their uid.
type cascadeRows struct {
	widget.Slice[document.CascadeObject]
	places map[string]int
}

func (r cascadeRows) Find(id string) int {
	if i, ok := r.places[id]; ok {
		return i
	}
	return -1
}

func (v *cascadeView) rows() cascadeRows {
	a := v.answers[v.policy]
	return cascadeRows{widget.Slice[document.CascadeObject]{Items: a.cascade.Objects, IDOf: cascadeID, CellsOf: func(o document.CascadeObject) []widget.Cell {
		step := "stays"
		if o.Step > 0 {
			step = strconv.Itoa(o.Step)
		}
		return []widget.Cell{
			widget.Word(step, widget.Dim), widget.Word(string(o.Fate), fateStyle(o.Fate)), widget.Word(o.Object.Ref.String(), widget.Text), widget.Word(render.CascadeWhy(o), widget.Dim),
		}
	}}, a.places}
}

func fateStyle(f document.CascadeFate) widget.Style {
	switch f {
	case document.FateDeleted:
		return widget.Bad
	case document.FateSurvives:
		return widget.Good
	case document.FateOrphaned:
		return widget.Accent
	}
	return widget.Warn
}

func (v *cascadeView) key(key string) bool { return v.list.Key(v.rows(), key) }

func (v *cascadeView) title(e *page.Env) string {
	parts := []string{"Delete preview: " + render.KindName(v.object) + " (nothing is deleted)"}
	parts = append(parts, v.asking.Since(e)...)
	if a, ok := v.answers[v.policy]; ok && !v.asking.Flying() {
		if old := e.Now.Sub(a.at); old >= page.AskLatest {
			parts = append(parts, "as of "+widget.Age(old)+" ago (r)")
		}
	}
	return strings.Join(parts, ", ")
}

func (v *cascadeView) current() (document.CascadeObject, bool) {
	rows := v.rows()
	return rows.At(v.list)
}

func (v *cascadeView) under() page.Subject {
	o, ok := v.current()
	if !ok {
		return page.Subject{Explain: "cascade"}
	}
	s := page.Subject{Kind: page.OnObject, Object: o.Object.Ref, Name: page.KubectlName(o.Object), Explain: "cascade"}
	if len(o.HeldBy) > 0 {
		s.Explain = "finalizer"
	}
	return s
}

func (v *cascadeView) actions(e *page.Env) []page.Action {
	var out []page.Action
	for _, c := range cascadePolicies {
		out = append(out, page.Action{
			Keys: []string{c.key}, Label: strings.ToLower(string(c.policy)), Help: c.help,
			Do: func() tea.Cmd { return v.choose(e, c.policy) },
		})
	}
	nothing := ""
	a, known := v.answers[v.policy]
	if !known {
		nothing = "there is no answer yet"
	}
	return append(out,
		page.Action{Keys: []string{"enter", "d"}, Label: "as text", Help: "Show the whole preview as a text: all reasons, finalizers, references and notes.", Off: nothing, Do: func() tea.Cmd { return v.text(a) }},
		page.Action{Keys: []string{"r"}, Label: "again", Help: "Refresh.", Do: func() tea.Cmd { return v.ask(e) }},
		page.Action{Keys: []string{"x"}, Label: "close", Help: "Close the preview.", Do: func() tea.Cmd { return page.Send(tea.KeyMsg{Type: tea.KeyEsc}) }},
	)
}

// text is the preview as `kctl-ctrl cascade` prints it.
func (v *cascadeView) text(a cascadeAnswer) tea.Cmd {
	title := "Delete preview: " + render.KindName(v.object)
	return func() tea.Msg {
		var out strings.Builder
		if err := render.WriteCascade(&out, a.cascade, render.CascadeOptions{Wide: true}); err != nil {
			return page.SayMsg{Text: title + ": " + err.Error(), Bad: true}
		}
		for _, l := range render.ReadSummary(a.cascade.Cost, a.cascade.Gaps) {
			out.WriteString(l + "\n")
		}
		return page.ShowMsg{Text: widget.TextOf(title, out.String())}
	}
}

// view draws the policies, the tally, the objects, and what is said of the one
// under the cursor.
func (v *cascadeView) view(e *page.Env, w, h int) []string {
	a, known := v.answers[v.policy]
	top := []widget.Line{v.policies(), {widget.Bold.Of(" " + a.tally)}}
	switch {
	case v.asking.Err != nil && !known:
		top[1] = widget.Line{widget.Bad.Of(" It could not be worked out; r asks again.")}
	case !known:
		top[1] = widget.Line{widget.Dim.Of(" Reading what the deletion can touch…")}
	case !a.cascade.Complete:
		top = append(top, widget.Line{widget.Bad.Of(" INCOMPLETE: some types could not be read, and what is hidden there is missing here (d)")})
	}
	body := max(h-len(top), 0)
	out := widget.Fit(e.Theme, top, w, min(len(top), h))
	rows := v.rows()
	if w >= widget.Wide {
		return append(out, widget.Beside(e.Theme, w, body,
			func(w, h int) []string { return v.list.View(e.Theme, rows, w, h, v.problem()) },
			func(w int) []widget.Line { return v.detail(a, w) })...)
	}
	panel := min(max(body/3, body-rows.Len()-2, 4), body)
	out = append(out, v.list.View(e.Theme, rows, w, body-panel, v.problem())...)
	below := append([]widget.Line{{widget.Dim.Of(strings.Repeat("─", w))}}, v.detail(a, w)...)
	if len(below) > panel {
		below = append(below[:panel-1], widget.Line{widget.Dim.Of(" … d shows the rest")})
	}
	return append(out, widget.Fit(e.Theme, below, w, panel)...)
}

func (v *cascadeView) problem() string {
	if v.asking.Err != nil {
		return v.asking.Err.Error()
	}
	return ""
}

// policies tells which of the three is shown, by brackets.
func (v *cascadeView) policies() widget.Line {
	l := widget.Line{widget.Dim.Of(" policy ")}
	for _, c := range cascadePolicies {
		name := string(c.policy)
		if c.policy == v.policy {
			l = append(l, widget.Title.Of("["+c.key+" "+name+"] "))
		} else {
			l = append(l, widget.Dim.Of(" "+c.key+" "+name+"  "))
		}
	}
	return l
}

// detail is what is said of the object under the cursor, then of the whole.
func (v *cascadeView) detail(a cascadeAnswer, w int) []widget.Line {
	var out []widget.Line
	if o, ok := v.current(); ok {
		out = append(out, v.objectDetail(a, o, w)...)
	}
	paragraphs := func(title string, style widget.Style, texts []string) {
		if len(texts) == 0 {
			return
		}
		out = append(out, widget.Line{}, widget.Heading(title))
		for _, t := range texts {
			out = append(out, widget.Indent(widget.Wrapped(t, w-2, style), 1)...)
		}
	}
	paragraphs("Notes", widget.Text, a.cascade.Notes)
	paragraphs("Not read", widget.Bad, render.GapLines(a.cascade.Gaps))
	return out
}

func (v *cascadeView) objectDetail(a cascadeAnswer, o document.CascadeObject, w int) []widget.Line {
	out := []widget.Line{append(widget.Heading(render.KindName(o.Object)), fateStyle(o.Fate).Of("  "+string(o.Fate)))}
	add := func(text string, style widget.Style) {
		out = append(out, widget.Indent(widget.Wrapped(text, w-2, style), 1)...)
	}
	add(render.CascadeWhy(o), widget.Text)
	for _, text := range render.CascadeHeld([]document.CascadeObject{o}) {
		add("held: "+strings.TrimPrefix(text, o.Object.Ref.String()+": "), widget.Warn)
	}
	var absent []document.CascadeReference
	for _, r := range a.cascade.Absent {
		if r.Dependent.Same(o.Object.Ref) {
			absent = append(absent, r)
		}
	}
	for _, text := range render.CascadeUnfollowed(absent) {
		add("not followed: "+text, widget.Warn)
	}
	if o.Policy != "" && o.Policy != v.policy {
		add(fmt.Sprintf("it is deleted by %s", o.Policy), widget.Dim)
	}
	return out
}
