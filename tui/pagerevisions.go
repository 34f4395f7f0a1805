package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// revisionsPage is page 6: the histories of pod templates.
type revisionsPage struct {
	base
	list widget.List
	// asking is about all histories, one about the one that is unfolded under the
	// cursor: its pods and marks change by the second.
	asking, one asking
	oneOf       state.Ref
	onePrint    uint64
	texts       stale

	lists []state.RevisionList
	known bool
	// partial says what is missing from the lists.
	partial string
	// rolling counts the histories whose pods do not all run what is asked for.
	rolling int
	built   *state.Snapshot
	pacing  pacing // of what is made of snapshots
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

func newRevisionsPage() page {
	return &revisionsPage{rows: &revisionRows{}, open: map[string]bool{}, asking: asking{pace: listPace}}
}

// revisionText is a diff or an undo, to be shown.
type revisionText struct{ title, text string }

func (p *revisionsPage) update(msg tea.Msg, e *env) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		p.shown = true
		if !p.known || p.built != nil {
			p.asking.forget() // there is nothing yet, or the backend has come since
		}
		p.asking.changed = true // what happened meanwhile was not looked at
		return p.askIfDue(e, msg)
	case hiddenMsg:
		p.shown = false
		p.asking.stop()
		p.one.stop()
		p.texts.next()
	case sizeMsg:
		p.list.Resize(msg.h)
	case changedMsg:
		p.list.Sync(p.rows)
		return p.askIfDue(e, msg)
	case snapshotMsg, tickMsg:
		return p.askIfDue(e, msg)
	case answer[[]state.RevisionList]:
		if p.asking.done(msg.round, e.now, msg.err) {
			return p.took(e, msg)
		}
	case answer[state.RevisionList]:
		if p.one.done(msg.round, e.now, msg.err) && msg.err == nil {
			p.merge(e, msg.value)
		}
	case answer[revisionText]:
		switch {
		case !p.texts.is(msg.round):
		case msg.err != nil:
			return complain(msg.err.Error())
		default:
			return send(showMsg{text: widget.TextOf(msg.value.title, msg.value.text)})
		}
	}
	return nil
}

func (p *revisionsPage) askIfDue(e *env, msg tea.Msg) tea.Cmd {
	switch {
	case !p.shown:
		return nil
	case e.Revisions == nil:
		few := e.snap.Objects.Len() <= snapshotAtOnce
		if p.asking.flying() || p.built == e.snap || p.built != nil && !few && !p.pacing.due(e, msg, 0) {
			return nil
		}
		return p.ask(e)
	case e.snap.Session.Mode == "":
		return nil // which namespace the session is about is not known yet
	case p.asking.due(e.now):
		return tea.Batch(p.ask(e), p.askOne(e))
	}
	return p.askOne(e)
}

func (p *revisionsPage) ask(e *env) tea.Cmd {
	backend, snap := e.Revisions, e.snap
	p.built = nil
	if backend == nil {
		p.built, p.pacing.at = snap, e.now
	}
	return askNow(&p.asking, e, pageRevisions, func(ctx context.Context) ([]state.RevisionList, error) {
		if backend == nil {
			return snapshotRevisions(snap), nil
		}
		return backend.List(ctx)
	})
}

// askOne asks for the history under the cursor where something of it has changed.
func (p *revisionsPage) askOne(e *env) tea.Cmd {
	r := p.current()
	if e.Revisions == nil || r == nil || !p.open[historyKey(r.history)] {
		p.one.stop()
		return nil
	}
	ref := r.history.Object
	if !ref.Same(p.oneOf) {
		p.one.forget()
		// The list is new enough to begin with.
		p.oneOf, p.onePrint, p.one.asked = ref, historyPrint(e.snap, ref), p.asking.got
	}
	if now := historyPrint(e.snap, ref); now != p.onePrint {
		p.onePrint, p.one.changed = now, true
	}
	if !p.one.due(e.now) {
		return nil
	}
	backend := e.Revisions
	return askNow(&p.one, e, pageRevisions, func(ctx context.Context) (state.RevisionList, error) { return backend.Of(ctx, ref) })
}

func (p *revisionsPage) took(e *env, msg answer[[]state.RevisionList]) tea.Cmd {
	if msg.err != nil && len(msg.value) == 0 {
		return nil // what was there stays
	}
	p.partial = ""
	if msg.err != nil {
		p.partial, p.asking.err = msg.err.Error(), nil
	}
	p.lists, p.known, p.pacing.took = msg.value, true, msg.took
	if p.follow != nil {
		p.reveal(e, *p.follow)
		p.follow = nil
	} else {
		p.flatten(e)
	}
	return p.askIfDue(e, nil)
}

func (p *revisionsPage) merge(e *env, list state.RevisionList) {
	for i := range p.lists {
		if p.lists[i].Object.Same(list.Object) {
			p.lists[i] = list
		}
	}
	p.flatten(e)
}

func (p *revisionsPage) flatten(e *env) {
	p.rows = flattenRevisions(p.lists, p.open, p.filter)
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
func (p *revisionsPage) reveal(e *env, ref state.Ref) bool {
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

func (p *revisionsPage) focus(s subject, e *env) (tea.Cmd, bool) {
	ref := s.object
	switch {
	case ref.Name == "":
		return nil, false
	case hasHistory(ref), ref.Group == "apps" && (ref.Resource == "replicasets" || ref.Resource == "controllerrevisions"), ref.Type() == "pods":
	default:
		return nil, false
	}
	p.filter = widget.Filter{}
	if p.known && p.reveal(e, ref) {
		return nil, true
	}
	p.follow = &ref
	return nil, true
}

func (p *revisionsPage) filtering() *filtering {
	return &filtering{current: p.filter, set: func(f widget.Filter) {
		p.filter = f
		cells := p.rows.cells
		p.rows = flattenRevisions(p.lists, p.open, f)
		p.rows.cells = cells
	}}
}

func (p *revisionsPage) key(key string, _ *env) bool { return p.list.Key(p.rows, key) }

func (p *revisionsPage) back() bool {
	if len(p.marks) == 0 {
		return false
	}
	p.marks = nil
	return true
}

func (p *revisionsPage) title(e *env) string {
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
	parts = append(parts, p.asking.since(e)...)
	if p.one.err != nil {
		parts = append(parts, "FAILED: "+p.one.err.Error())
	}
	return strings.Join(parts, ", ")
}

func (p *revisionsPage) current() *revisionRow {
	at := p.list.At(p.rows)
	if at < 0 {
		return nil
	}
	return &p.rows.rows[at]
}

func (p *revisionsPage) view(e *env, w, h int) []string {
	empty := "Nothing here has a history: there is no Deployment, StatefulSet or DaemonSet."
	switch {
	case p.asking.err != nil && !p.known:
		empty = "The histories could not be read; r asks again. " + p.asking.err.Error()
	case !p.known:
		empty = "Reading the histories…"
	case p.filter.Text != "":
		empty = "Nothing here matches the filter."
	}
	return widget.Beside(e.Theme, w, h,
		func(w, h int) []string { return p.list.View(e.Theme, p.rows, w, h, empty) },
		func(w int) []widget.Line { return p.detail(e, p.current(), w) })
}

func (p *revisionsPage) under(*env) subject {
	r := p.current()
	switch {
	case r == nil:
		return subject{explain: "revision"}
	case r.revision == nil:
		s := subject{kind: onObject, object: r.history.Object, name: kubectlName(historyObject(r.history)), explain: "revision"}
		if r.history.Partition != nil && *r.history.Partition > 0 {
			s.explain = "partition"
		}
		return s
	}
	return subject{kind: onRevision, object: r.revision.Object, name: r.revision.Object.Type() + "/" + r.revision.Object.Name}
}

// plain has every revision, folded or not.
func (p *revisionsPage) plain(*env) []plainRow {
	var out []plainRow
	add := func(id string, words ...string) {
		out = append(out, plainRow{id: id, text: strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")})
	}
	for i := range p.lists {
		h := &p.lists[i]
		if !p.filter.Matches(historyFields(h)...) {
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
