// Package revisions is page 6: the histories of pod templates, compared, and a
// preview of rolling back.
package revisions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Page is page 6: the histories of pod templates.
type Page struct {
	page.Base
	list widget.List
	// asking is about all histories, one about the one that is unfolded under the
	// cursor: its pods and marks change by the second.
	asking, one page.Asking
	oneOf       state.Ref
	onePrint    uint64
	texts       page.Stale

	lists []state.RevisionList
	known bool
	// partial says what is missing from the lists.
	partial string
	// rolling counts the histories whose pods do not all run what is asked for.
	rolling int
	built   *state.Snapshot
	pacing  page.Pacing // of what is made of snapshots
	rows    *revisionRows
	open    map[string]bool
	// marks are the revisions to compare, of one object, two at most.
	marks  []revisionMark
	follow *state.Ref
	shown  bool
}

// revisionMark is a revision that the user marked.
type revisionMark struct {
	history  string
	record   string
	revision int64
}

// listPace makes the list of all histories slow: it costs six lists.
const listPace = 4

// New makes the page.
func New() page.Page {
	return &Page{rows: &revisionRows{}, open: map[string]bool{}, asking: page.Asking{Pace: listPace}}
}

// revisionText is a diff or an undo, to be shown.
type revisionText struct{ title, text string }

func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case page.ShownMsg:
		p.shown = true
		if !p.known || p.built != nil {
			p.asking.Forget() // there is nothing yet, or the backend has come since
		}
		p.asking.Changed = true // what happened meanwhile was not looked at
		return p.askIfDue(e, msg)
	case page.HiddenMsg:
		p.shown = false
		p.asking.Stop()
		p.one.Stop()
		p.texts.Next()
	case page.SizeMsg:
		p.list.Resize(msg.H)
	case page.FilteredMsg:
		p.list.ToTop()
		p.list.Sync(p.rows)
		return p.askIfDue(e, msg)
	case page.ChangedMsg:
		p.list.Sync(p.rows)
		return p.askIfDue(e, msg)
	case page.SnapshotMsg, page.TickMsg:
		return p.askIfDue(e, msg)
	case page.Answer[[]state.RevisionList]:
		if p.asking.Done(msg.Round, e.Now, msg.Err) {
			return p.took(e, msg)
		}
	case page.Answer[state.RevisionList]:
		if p.one.Done(msg.Round, e.Now, msg.Err) && msg.Err == nil {
			p.merge(e, msg.Value)
		}
	case page.Answer[revisionText]:
		switch {
		case !p.texts.Is(msg.Round):
		case msg.Err != nil:
			return page.Complain(msg.Err.Error())
		default:
			return page.Send(page.ShowMsg{Text: widget.TextOf(msg.Value.title, msg.Value.text)})
		}
	}
	return nil
}

func (p *Page) askIfDue(e *page.Env, msg tea.Msg) tea.Cmd {
	switch {
	case !p.shown:
		return nil
	case e.Revisions == nil:
		few := e.Snap.Objects.Len() <= page.SnapshotAtOnce
		if p.asking.Flying() || p.built == e.Snap || p.built != nil && !few && !p.pacing.Due(e, msg, 0) {
			return nil
		}
		return p.ask(e)
	case e.Snap.Session.Mode == "":
		return nil // which namespace the session is about is not known yet
	case p.asking.Due(e.Now):
		return tea.Batch(p.ask(e), p.askOne(e))
	}
	return p.askOne(e)
}

func (p *Page) ask(e *page.Env) tea.Cmd {
	backend, snap := e.Revisions, e.Snap
	p.built = nil
	if backend == nil {
		p.built, p.pacing.At = snap, e.Now
	}
	return page.AskNow(&p.asking, e, page.Revisions, func(ctx context.Context) ([]state.RevisionList, error) {
		if backend == nil {
			return snapshotRevisions(snap), nil
		}
		return backend.List(ctx)
	})
}

// askOne asks for the history under the cursor where something of it has changed.
func (p *Page) askOne(e *page.Env) tea.Cmd {
	r := p.current()
	if e.Revisions == nil || r == nil || !p.open[historyKey(r.history)] {
		p.one.Stop()
		return nil
	}
	ref := r.history.Object
	if !ref.Same(p.oneOf) {
		p.one.Forget()
		// The list is new enough to begin with.
		p.oneOf, p.onePrint, p.one.Asked = ref, historyPrint(e.Snap, ref), p.asking.Got
	}
	if now := historyPrint(e.Snap, ref); now != p.onePrint {
		p.onePrint, p.one.Changed = now, true
	}
	if !p.one.Due(e.Now) {
		return nil
	}
	backend := e.Revisions
	return page.AskNow(&p.one, e, page.Revisions, func(ctx context.Context) (state.RevisionList, error) { return backend.Of(ctx, ref) })
}

func (p *Page) took(e *page.Env, msg page.Answer[[]state.RevisionList]) tea.Cmd {
	if msg.Err != nil && len(msg.Value) == 0 {
		return nil // what was there stays
	}
	p.partial = ""
	if msg.Err != nil {
		p.partial, p.asking.Err = msg.Err.Error(), nil
	}
	p.lists, p.known, p.pacing.Took = msg.Value, true, msg.Took
	if p.follow != nil {
		p.reveal(e, *p.follow)
		p.follow = nil
	} else {
		p.flatten(e)
	}
	return p.askIfDue(e, nil)
}

func (p *Page) merge(e *page.Env, list state.RevisionList) {
	for i := range p.lists {
		if p.lists[i].Object.Same(list.Object) {
			p.lists[i] = list
		}
	}
	p.flatten(e)
}

func (p *Page) flatten(e *page.Env) {
	p.rows = flattenRevisions(p.lists, p.open, p.Filter)
	p.rows.cells = func(r revisionRow) []widget.Cell { return p.cells(e, r) }
	p.list.Columns = p.rows.columns()
	p.rolling = 0
	for i := range p.lists {
		if update, current := marksOf(&p.lists[i]); update != nil && current != nil && update != current {
			p.rolling++
		}
	}
	p.list.Sync(p.rows)
}

// reveal unfolds the history of an object, of one of its revisions or of a pod,
// and puts the cursor there.
func (p *Page) reveal(e *page.Env, ref state.Ref) bool {
	for i := range p.lists {
		h := &p.lists[i]
		key, id := historyKey(h), ""
		if h.Object.Same(ref) {
			id = key
		}
		for j := range h.Items {
			r := &h.Items[j]
			runs := ref.Type() == "pods" && ref.Namespace == h.Object.Namespace && slices.Contains(r.Pods, ref.Name)
			if runs || r.Object.Same(ref) {
				id = revisionID(h, r)
			}
		}
		if id != "" {
			p.open[key] = true
			p.flatten(e)
			p.list.To(p.rows, p.rows.Find(id))
			return true
		}
	}
	p.flatten(e)
	return false
}

func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	ref := s.Object
	switch {
	case ref.Name == "":
		return nil, false
	case page.HasHistory(ref), ref.Group == "apps" && (ref.Resource == "replicasets" || ref.Resource == "controllerrevisions"), ref.Type() == "pods":
	default:
		return nil, false
	}
	p.Filter = widget.Filter{}
	if p.known && p.reveal(e, ref) {
		return nil, true
	}
	p.follow = &ref
	return nil, true
}

func (p *Page) Filtering() *page.Filtering {
	return &page.Filtering{Current: p.Filter, Set: func(f widget.Filter) {
		p.Filter = f
		cells := p.rows.cells
		p.rows = flattenRevisions(p.lists, p.open, f)
		p.rows.cells = cells
	}}
}

func (p *Page) Key(key string, _ *page.Env) bool { return p.list.Key(p.rows, key) }

func (p *Page) Back() bool {
	if len(p.marks) == 0 {
		return false
	}
	p.marks = nil
	return true
}

func (p *Page) Title(e *page.Env) string {
	parts := []string{fmt.Sprintf("Revisions: %d histories", len(p.lists))}
	if p.rolling > 0 {
		parts = append(parts, fmt.Sprintf("%d with two revisions at once", p.rolling))
	}
	if p.partial != "" {
		parts = append(parts, "PARTIAL: "+p.partial)
	}
	if e.Revisions == nil {
		return strings.Join(append(parts, "names and owners only"), ", ")
	}
	parts = append(parts, p.asking.Since(e)...)
	if p.one.Err != nil {
		parts = append(parts, "FAILED: "+p.one.Err.Error())
	}
	return strings.Join(parts, ", ")
}

func (p *Page) current() *revisionRow {
	at := p.list.At(p.rows)
	if at < 0 {
		return nil
	}
	return &p.rows.rows[at]
}

func (p *Page) View(e *page.Env, w, h int) []string {
	empty := "Nothing here has a history: there is no Deployment, StatefulSet or DaemonSet."
	switch {
	case p.asking.Err != nil && !p.known:
		empty = "The histories could not be read; r asks again. " + p.asking.Err.Error()
	case !p.known:
		empty = "Reading the histories…"
	case p.Filter.Text != "":
		empty = page.NoMatch("histories", p.Filter)
	}
	return widget.Beside(e.Theme, w, h,
		func(w, h int) []string { return p.list.View(e.Theme, p.rows, w, h, empty) },
		func(w int) []widget.Line { return p.detail(e, p.current(), w) })
}

// Place says which rows are visible.
func (p *Page) Place(*page.Env) string { return p.list.Place(p.rows) }

func (p *Page) Under(*page.Env) page.Subject {
	r := p.current()
	switch {
	case r == nil:
		return page.Subject{Explain: "revision"}
	case r.revision == nil:
		s := page.Subject{Kind: page.OnObject, Object: r.history.Object, Name: page.KubectlName(historyObject(r.history)), Explain: "revision"}
		if r.history.Partition != nil && *r.history.Partition > 0 {
			s.Explain = "partition"
		}
		return s
	}
	return page.Subject{Kind: page.OnRevision, Object: r.revision.Object, Name: r.revision.Object.Type() + "/" + r.revision.Object.Name}
}

// Plain has every revision, folded or not.
func (p *Page) Plain(*page.Env) []page.Row {
	var out []page.Row
	add := func(id string, words ...string) {
		out = append(out, page.Row{ID: id, Text: strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")})
	}
	for i := range p.lists {
		h := &p.lists[i]
		if !p.Filter.Matches(historyFields(h)...) {
			continue
		}
		name := render.KindName(historyObject(h))
		add(historyKey(h), name, "namespace "+h.Object.Namespace, historyStatus(h).Text())
		for j := range h.Items {
			r := &h.Items[j]
			pods := "pods not known"
			if h.PodsKnown {
				pods = fmt.Sprintf("%d pods", r.PodCount)
			}
			add(revisionID(h, r), name+" revision "+revisionName(r), "namespace "+h.Object.Namespace, render.RevisionStatus(*r), pods, strings.Join(r.Images, " "), r.ChangeCause)
		}
	}
	return out
}
