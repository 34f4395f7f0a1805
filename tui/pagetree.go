package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// treePage is page 5: who owns what.
type treePage struct {
	base
	list widget.List
	// subject is the object whose tree is shown, nil for the trees of a
	// namespace; past are the subjects before it.
	subject *state.Ref
	past    []*state.Ref
	// chosen is the namespace that the user named, nil where none.
	chosen *string

	asking asking
	// built is the snapshot of a tree that was made of one.
	built *state.Snapshot
	ticks int
	// pacing is of the trees that are made of snapshots.
	pacing pacing
	tree   *grown
	print  uint64
	rows   *treeRows
	folds  map[string]bool
	// follow is where the cursor goes with the next answer.
	follow *state.Ref
	shown  bool
	// height is that of the page.
	height int

	cascade *cascadeView
}

func newTreePage() page {
	return &treePage{rows: &treeRows{}, folds: map[string]bool{}}
}

// namespace is that of the trees where there is no subject. All of a cluster's
// are read only when the user asks for them.
func (p *treePage) namespace(e *env) string {
	s := e.snap.Session
	switch {
	case p.chosen != nil:
		return *p.chosen
	case s.Namespace != "" || s.Sandbox || e.Owners == nil:
		return s.Namespace
	}
	return "default"
}

func (p *treePage) update(msg tea.Msg, e *env) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		p.shown = true
		if p.tree == nil || p.built != nil {
			p.asking.forget() // there is nothing yet, or the backend has come since
		}
		p.asking.changed = true // what happened meanwhile was not looked at
		return p.askIfDue(e)
	case hiddenMsg:
		p.shown = false
		p.asking.stop()
	case sizeMsg:
		p.height = msg.h
		p.list.Resize(msg.h)
		if p.cascade != nil {
			p.cascade.list.Resize(msg.h)
		}
	case snapshotMsg:
		return p.moved(e)
	case tickMsg:
		p.ticks++
		return p.askIfDue(e)
	case changedMsg:
		p.list.Sync(p.rows)
		if p.tree == nil { // back has left it
			return p.askIfDue(e)
		}
	case answer[*grown]:
		if p.asking.done(msg.round, e.now, msg.err) {
			p.pacing.took = msg.took
			return p.took(e, msg.value)
		}
	case answer[cascadeAnswer]:
		if p.cascade != nil {
			p.cascade.took(e, msg)
		}
	}
	return nil
}

// moved: there is a new snapshot.
func (p *treePage) moved(e *env) tea.Cmd {
	if !p.shown {
		return nil
	}
	if e.Owners == nil {
		if p.built == nil || e.snap.Objects.Len() <= snapshotAtOnce {
			return p.askIfDue(e)
		}
		return nil
	}
	if p.tree == nil || p.asking.asked.IsZero() {
		return p.askIfDue(e)
	}
	if now := p.tree.print(e.snap); now != p.print {
		p.print, p.asking.changed = now, true
		return p.askIfDue(e)
	}
	return nil
}

// snapshotPerTick: a tree of a large recording is made at every nth tick, the more
// objects the fewer.
const snapshotPerTick = 20_000

func (p *treePage) askIfDue(e *env) tea.Cmd {
	switch {
	case !p.shown:
		return nil
	case e.snap.Session.Mode == "" && p.subject == nil:
		return nil // which namespace the session is about is not known yet
	case e.Owners == nil:
		n := e.snap.Objects.Len()
		early := p.ticks%(1+n/snapshotPerTick) != 0
		if e.Player == nil {
			early = !p.pacing.due(e, nil, time.Second)
		}
		if p.asking.flying() || p.built == e.snap || n > snapshotAtOnce && p.built != nil && early {
			return nil
		}
		return p.ask(e)
	case p.asking.due(e.now):
		return p.ask(e)
	}
	return nil
}

// ask puts the question for what is to be shown.
func (p *treePage) ask(e *env) tea.Cmd {
	owners, subject, namespace, snap := e.Owners, p.subject, p.namespace(e), e.snap
	p.built = nil
	if owners == nil {
		p.built, p.pacing.at = snap, e.now
	}
	return askNow(&p.asking, e, pageTree, func(ctx context.Context) (*grown, error) {
		var tree document.OwnerTree
		var err error
		switch {
		case owners == nil:
			tree = snapshotTree(snap, namespace, subject)
		case subject != nil:
			tree, err = owners.Tree(ctx, *subject)
		default:
			tree, err = owners.Roots(ctx, namespace)
		}
		if err != nil {
			return nil, err
		}
		return grow(tree), nil
	})
}

// took takes a new tree over; after an error the old one stays.
func (p *treePage) took(e *env, tree *grown) tea.Cmd {
	if tree == nil {
		return nil
	}
	p.tree, p.print = tree, tree.print(e.snap)
	p.list.Columns = tree.columns()
	if p.follow != nil {
		p.reveal(*p.follow)
	}
	p.flatten(e)
	if p.follow != nil {
		for i, r := range p.rows.rows {
			if !r.Absent && r.Object.Same(*p.follow) {
				p.list.To(p.rows, i)
				break
			}
		}
		p.follow = nil
	}
	// What changed while the question was under way is asked for next.
	return p.moved(e)
}

// isFolded says what is folded: what the user folded, and much of a large tree.
func (p *treePage) isFolded(key string) bool {
	if folded, said := p.folds[key]; said {
		return folded
	}
	return p.tree.nodes > foldFrom
}

func unfolded(string) bool { return false }

func (p *treePage) flatten(e *env) {
	if p.tree == nil {
		p.rows = &treeRows{}
		return
	}
	p.rows = p.tree.flatten(p.isFolded, p.filter)
	tree := p.tree
	p.rows.cells = func(r treeRow) []widget.Cell { return tree.cells(e, r) }
	p.list.Sync(p.rows)
}

// reveal unfolds what is above an object.
func (p *treePage) reveal(ref state.Ref) {
	var visit func(n *document.OwnerNode) bool
	visit = func(n *document.OwnerNode) bool {
		if !n.Absent && n.Object.Same(ref) {
			return true
		}
		for _, d := range n.Dependents {
			if visit(d) {
				p.folds[nodeKey(n)] = false
				return true
			}
		}
		return false
	}
	for _, root := range p.tree.tree.Roots {
		if visit(root) {
			return
		}
	}
}

// turn shows another tree.
func (p *treePage) turn(e *env, to *state.Ref) tea.Cmd {
	p.leave(to)
	return p.ask(e)
}

// leave forgets the tree for another one, which has to be asked for. The cursor
// goes to its subject, or stays on the one before.
func (p *treePage) leave(to *state.Ref) {
	p.asking.forget()
	follow := to
	if to == nil {
		follow = p.subject
	}
	p.subject, p.follow, p.tree, p.built, p.cascade = to, follow, nil, nil, nil
	p.filter, p.folds, p.list.Selected = widget.Filter{}, map[string]bool{}, ""
	p.rows = &treeRows{}
}

func (p *treePage) focus(s subject, e *env) (tea.Cmd, bool) {
	if s.object.Resource == "" || s.object.Name == "" {
		return nil, false
	}
	ref := s.object
	p.past = nil
	return p.turn(e, &ref), true
}

func (p *treePage) filtering() *filtering {
	if p.cascade != nil {
		return nil
	}
	return &filtering{current: p.filter, set: func(f widget.Filter) {
		p.filter = f
		if p.tree != nil {
			cells := p.rows.cells
			p.rows = p.tree.flatten(p.isFolded, f)
			p.rows.cells = cells
		}
	}}
}

func (p *treePage) key(key string, e *env) bool {
	if p.cascade != nil {
		return p.cascade.key(key)
	}
	return p.list.Key(p.rows, key)
}

// back leaves the preview, or goes to the tree from which t came here.
func (p *treePage) back() bool {
	switch n := len(p.past); {
	case p.cascade != nil:
		p.cascade.asking.stop()
		p.cascade = nil
	case n > 0:
		p.leave(p.past[n-1])
		p.past = p.past[:n-1]
	default:
		return false
	}
	return true
}

func (p *treePage) title(e *env) string {
	if p.cascade != nil {
		return p.cascade.title(e)
	}
	name := "roots in all namespaces"
	if namespace := p.namespace(e); namespace != "" {
		name = "roots in namespace " + namespace
	}
	if p.subject != nil {
		name = p.subject.String()
	}
	parts := []string{"Tree: " + name}
	if p.tree != nil {
		parts = append(parts, fmt.Sprintf("%d objects", p.tree.nodes))
		if n := len(p.tree.tree.Gaps); n > 0 {
			parts = append(parts, fmt.Sprintf("PARTIAL: %d not read (m)", n))
		}
		if n := p.tree.tree.StatusNotRead; n > 0 {
			parts = append(parts, fmt.Sprintf("status of %d not read", n))
		}
	}
	if e.Owners == nil {
		return strings.Join(append(parts, "managing owners only"), ", ")
	}
	return strings.Join(append(parts, p.asking.since(e)...), ", ")
}

func (p *treePage) current() *treeRow {
	at := p.list.At(p.rows)
	if at < 0 {
		return nil
	}
	return &p.rows.rows[at]
}

func (p *treePage) view(e *env, w, h int) []string {
	if p.cascade != nil {
		return p.cascade.view(e, w, h)
	}
	return widget.Beside(e.Theme, w, h,
		func(w, h int) []string { return p.list.View(e.Theme, p.rows, w, h, p.empty(e)) },
		func(w int) []widget.Line { return p.detail(e, p.current(), w) })
}

// empty says why there is no row.
func (p *treePage) empty(e *env) string {
	switch {
	case p.tree == nil && p.asking.err != nil:
		return "It could not be read; r asks again. " + p.asking.err.Error()
	case p.tree == nil && e.Owners == nil:
		return "Looking into the journal…"
	case p.tree == nil:
		return "Asking who owns what…"
	case p.filter.Text != "":
		return "Nothing here matches the filter."
	case p.subject != nil && e.Owners == nil:
		return "No informer has this object."
	case p.subject != nil:
		return "The object is not there any more. R shows the roots."
	}
	return "Nothing here owns anything. n chooses another namespace."
}

func (p *treePage) under(e *env) subject {
	if p.cascade != nil {
		return p.cascade.under()
	}
	r := p.current()
	if r == nil {
		return subject{explain: "owner"}
	}
	s := subject{kind: onObject, object: r.Object.Ref, name: kubectlName(r.Object), explain: "owner"}
	switch {
	case r.Absent:
		s.explain = "absent-owner"
	case !r.Object.Deleting.IsZero() && len(r.Object.Finalizers) > 0:
		s.explain = "finalizer"
	}
	return s
}
