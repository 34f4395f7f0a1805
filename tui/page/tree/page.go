// Package tree is page 5: who owns what, and a preview of a cascading deletion.
package tree

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Page is page 5: who owns what.
type Page struct {
	page.Base
	list widget.List
	// subject is the object whose tree is shown, nil for the trees of a
	// namespace; past are the subjects before it.
	subject *state.Ref
	past    []*state.Ref
	// chosen is the namespace that the user named, nil where none.
	chosen *string

	asking page.Asking
	// built is the snapshot of a tree that was made of one.
	built *state.Snapshot
	ticks int
	// pacing is of the trees that are made of snapshots.
	pacing page.Pacing
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

// New makes the page.
func New() page.Page {
	return &Page{rows: &treeRows{}, folds: map[string]bool{}}
}

// namespace is that of the trees where there is no subject. All of a cluster's
// are read only when the user asks for them.
func (p *Page) namespace(e *page.Env) string {
	s := e.Snap.Session
	switch {
	case p.chosen != nil:
		return *p.chosen
	case s.Namespace != "" || s.Sandbox || e.Owners == nil:
		return s.Namespace
	}
	return "default"
}

func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case page.ShownMsg:
		p.shown = true
		if p.tree == nil || p.built != nil {
			p.asking.Forget() // there is nothing yet, or the backend has come since
		}
		p.asking.Changed = true // what happened meanwhile was not looked at
		return p.askIfDue(e)
	case page.HiddenMsg:
		p.shown = false
		p.asking.Stop()
	case page.SizeMsg:
		p.height = msg.H
		p.list.Resize(msg.H)
		if p.cascade != nil {
			p.cascade.list.Resize(msg.H)
		}
	case page.SnapshotMsg:
		return p.moved(e)
	case page.TickMsg:
		p.ticks++
		return p.askIfDue(e)
	case page.FilteredMsg:
		p.list.ToTop()
		p.list.Sync(p.rows)
	case page.ChangedMsg:
		p.list.Sync(p.rows)
		if p.tree == nil { // back has left it
			return p.askIfDue(e)
		}
	case page.Answer[*grown]:
		if p.asking.Done(msg.Round, e.Now, msg.Err) {
			p.pacing.Took = msg.Took
			return p.took(e, msg.Value)
		}
	case page.Answer[cascadeAnswer]:
		if p.cascade != nil {
			p.cascade.took(e, msg)
		}
	}
	return nil
}

// moved: there is a new snapshot.
func (p *Page) moved(e *page.Env) tea.Cmd {
	if !p.shown {
		return nil
	}
	if e.Owners == nil {
		if p.built == nil || e.Snap.Objects.Len() <= page.SnapshotAtOnce {
			return p.askIfDue(e)
		}
		return nil
	}
	if p.tree == nil || p.asking.Asked.IsZero() {
		return p.askIfDue(e)
	}
	if now := p.tree.Print(e.Snap); now != p.print {
		p.print, p.asking.Changed = now, true
		return p.askIfDue(e)
	}
	return nil
}

// snapshotPerTick: a tree of a large recording is made at every nth tick, the more
// objects the fewer.
const snapshotPerTick = 20_000

func (p *Page) askIfDue(e *page.Env) tea.Cmd {
	switch {
	case !p.shown:
		return nil
	case e.Snap.Session.Mode == "" && p.subject == nil:
		return nil // which namespace the session is about is not known yet
	case e.Owners == nil:
		n := e.Snap.Objects.Len()
		early := p.ticks%(1+n/snapshotPerTick) != 0
		if e.Player == nil {
			early = !p.pacing.Due(e, nil, time.Second)
		}
		if p.asking.Flying() || p.built == e.Snap || n > page.SnapshotAtOnce && p.built != nil && early {
			return nil
		}
		return p.ask(e)
	case p.asking.Due(e.Now):
		return p.ask(e)
	}
	return nil
}

// ask puts the question for what is to be shown.
func (p *Page) ask(e *page.Env) tea.Cmd {
	owners, subject, namespace, snap := e.Owners, p.subject, p.namespace(e), e.Snap
	p.built = nil
	if owners == nil {
		p.built, p.pacing.At = snap, e.Now
	}
	return page.AskNow(&p.asking, e, page.Tree, func(ctx context.Context) (*grown, error) {
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
func (p *Page) took(e *page.Env, tree *grown) tea.Cmd {
	if tree == nil {
		return nil
	}
	p.tree, p.print = tree, tree.Print(e.Snap)
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
func (p *Page) isFolded(key string) bool {
	if folded, said := p.folds[key]; said {
		return folded
	}
	return p.tree.nodes > foldFrom
}

func unfolded(string) bool { return false }

func (p *Page) flatten(e *page.Env) {
	if p.tree == nil {
		p.rows = &treeRows{}
		return
	}
	p.rows = p.tree.flatten(p.isFolded, p.Filter)
	tree := p.tree
	p.rows.cells = func(r treeRow) []widget.Cell { return tree.cells(e, r) }
	p.list.Sync(p.rows)
}

// reveal unfolds what is above an object.
func (p *Page) reveal(ref state.Ref) {
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
func (p *Page) turn(e *page.Env, to *state.Ref) tea.Cmd {
	p.leave(to)
	return p.ask(e)
}

// leave forgets the tree for another one, which has to be asked for. The cursor
// goes to its subject, or stays on the one before.
func (p *Page) leave(to *state.Ref) {
	p.asking.Forget()
	follow := to
	if to == nil {
		follow = p.subject
	}
	p.subject, p.follow, p.tree, p.built, p.cascade = to, follow, nil, nil, nil
	p.Filter, p.folds, p.list.Selected = widget.Filter{}, map[string]bool{}, ""
	p.rows = &treeRows{}
}

func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	if s.Object.Resource == "" || s.Object.Name == "" {
		return nil, false
	}
	ref := s.Object
	p.past = nil
	return p.turn(e, &ref), true
}

func (p *Page) Filtering() *page.Filtering {
	if p.cascade != nil {
		return nil
	}
	return &page.Filtering{Current: p.Filter, Set: func(f widget.Filter) {
		p.Filter = f
		if p.tree != nil {
			cells := p.rows.cells
			p.rows = p.tree.flatten(p.isFolded, f)
			p.rows.cells = cells
		}
	}}
}

func (p *Page) Key(key string, e *page.Env) bool {
	if p.cascade != nil {
		return p.cascade.key(key)
	}
	return p.list.Key(p.rows, key)
}

// Back leaves the preview, or goes to the tree from which t came here.
func (p *Page) Back() bool {
	switch n := len(p.past); {
	case p.cascade != nil:
		p.cascade.asking.Stop()
		p.cascade = nil
	case n > 0:
		p.leave(p.past[n-1])
		p.past = p.past[:n-1]
	default:
		return false
	}
	return true
}

func (p *Page) Title(e *page.Env) string {
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
	return strings.Join(append(parts, p.asking.Since(e)...), ", ")
}

func (p *Page) current() *treeRow {
	at := p.list.At(p.rows)
	if at < 0 {
		return nil
	}
	return &p.rows.rows[at]
}

func (p *Page) View(e *page.Env, w, h int) []string {
	if p.cascade != nil {
		return p.cascade.view(e, w, h)
	}
	return widget.Beside(e.Theme, w, h,
		func(w, h int) []string { return p.list.View(e.Theme, p.rows, w, h, p.empty(e)) },
		func(w int) []widget.Line { return p.detail(e, p.current(), w) })
}

// empty says why there is no row.
func (p *Page) empty(e *page.Env) string {
	switch {
	case p.tree == nil && p.asking.Err != nil:
		return "It could not be read; r asks again. " + p.asking.Err.Error()
	case p.tree == nil && e.Owners == nil:
		return "Looking into the journal…"
	case p.tree == nil:
		return "Asking who owns what…"
	case p.Filter.Text != "":
		return page.NoMatch("objects", p.Filter)
	case p.subject != nil && e.Owners == nil:
		return "No informer has this object."
	case p.subject != nil:
		return "The object is not there any more. R shows the roots."
	}
	return "Nothing here owns anything. n chooses another namespace."
}

// Place says which rows are visible.
func (p *Page) Place(*page.Env) string {
	if p.cascade != nil {
		return p.cascade.list.Place(p.cascade.rows())
	}
	return p.list.Place(p.rows)
}

func (p *Page) Under(e *page.Env) page.Subject {
	if p.cascade != nil {
		return p.cascade.under()
	}
	r := p.current()
	if r == nil {
		return page.Subject{Explain: "owner"}
	}
	s := page.Subject{Kind: page.OnObject, Object: r.Object.Ref, Name: page.KubectlName(r.Object), Explain: "owner"}
	switch {
	case r.Absent:
		s.Explain = "absent-owner"
	case !r.Object.Deleting.IsZero() && len(r.Object.Finalizers) > 0:
		s.Explain = "finalizer"
	}
	return s
}
