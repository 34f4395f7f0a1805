package tuibackend

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/served"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// Bounds of one reading for the screen: nobody chose its size by a flag.
	tuiOwnerRequests = 1500
	tuiStatusLimit   = 1000
	// readTimeout ends a reading that a server does not answer.
	readTimeout = time.Minute
	// rescanAfter is how long a tree is kept up to date by watches alone, which
	// do not see dependents of types that had none.
	rescanAfter = time.Minute
	// idleAfter ends the watches of a tree that nobody asks for.
	idleAfter = 2 * time.Minute
	// maxFollowed is the largest graph that is watched; a larger one is read
	// anew each time, as seldom as the screen asks then.
	maxFollowed = 20_000
	// CascadeFor is how long the policies of one preview share a reading.
	CascadeFor = 5 * time.Second
)

// Owners reads owners for the screen. It keeps the last tree up to date by
// watches, so that to ask for it again costs little.
type Owners struct {
	config    *rest.Config
	context   string
	namespace func() string
	Now       func() time.Time
	types     *served.Types

	// turn is held while a question is answered: the screen puts one of each
	// kind at a time.
	turn     sync.Mutex
	Followed *followedTree

	previews  sync.Mutex
	Previewed *preview
}

var _ port.Owners = (*Owners)(nil)

// followedTree is a tree whose types are watched.
type followedTree struct {
	id     string
	reader *owners.Reader
	live   *owners.Live
	scope  owners.Scope
	// target is the object asked for, nil for the roots of a namespace.
	target *owners.Object
	at     time.Time
	took   time.Duration
	stop   context.CancelFunc
	idle   *time.Timer
}

// preview is what the deletion of an object can touch.
type preview struct {
	id      string
	at      time.Time
	graph   *owners.Graph
	targets []*owners.Object
	gaps    []document.ReadGap
	cost    document.ReadCost
}

// NewOwners makes the reader. Namespace is tried for types that may not be
// listed in the whole cluster. Close ends its watches.
func NewOwners(config *rest.Config, context string, namespace func() string) *Owners {
	return &Owners{config: config, context: context, namespace: namespace, Now: time.Now, types: &served.Types{Config: config}}
}

// Close ends the watches.
func (o *Owners) Close() {
	o.turn.Lock()
	defer o.turn.Unlock()
	o.leave()
}

func (o *Owners) leave() {
	if o.Followed != nil {
		o.Followed.idle.Stop()
		o.Followed.stop()
		o.Followed = nil
	}
}

// forget ends the watches of a tree that was not asked for in a while.
func (o *Owners) forget(f *followedTree) {
	o.turn.Lock()
	defer o.turn.Unlock()
	if o.Followed == f {
		o.leave()
	}
}

func (o *Owners) reader() (*owners.Reader, error) {
	return owners.NewReader(o.config, owners.Options{MaxRequests: tuiOwnerRequests})
}

// target reads the metadata of an object.
func (o *Owners) target(ctx context.Context, r *owners.Reader, ref state.Ref) (*owners.Object, error) {
	kinds, err := r.Kinds(ctx)
	if err != nil {
		return nil, explain.Error(err, "ask the server what it serves")
	}
	t, served := kinds.Resource(ref.Group, ref.Resource)
	if !served { // as a user calls it: deploy, Deployment
		if t, err = o.types.Find(ctx, ref.Type()); err != nil {
			return nil, err
		}
		if t, served = kinds.Resource(t.Group, t.Resource); !served {
			return nil, fmt.Errorf("%s: the server has no objects of this type", ref.Type())
		}
	}
	if t.Namespaced && ref.Namespace == "" {
		ref.Namespace = cmp.Or(o.namespace(), metav1.NamespaceDefault)
	}
	object, err := r.Get(ctx, t, ref.Namespace, ref.Name)
	if err != nil {
		return nil, explain.Error(err, "get "+ref.String())
	}
	return object, nil
}

// scopeFor is where dependents of the objects can be.
func (o *Owners) scopeFor(objects []*owners.Object) owners.Scope {
	s := owners.ScopeOf(objects...)
	if s.Everywhere && len(s.Namespaces) == 0 {
		if namespace := o.namespace(); namespace != "" {
			s.Namespaces = []string{namespace}
		}
	}
	return s
}

// Tree gives the tree from the topmost owners of the object down.
func (o *Owners) Tree(ctx context.Context, object state.Ref) (document.OwnerTree, error) {
	return o.grow(ctx, "tree of "+object.String(), func(ctx context.Context, r *owners.Reader) (*followedTree, *owners.Graph, error) {
		target, err := o.target(ctx, r, object)
		if err != nil {
			return nil, nil, err
		}
		above, err := r.Above(ctx, []*owners.Object{target})
		if err != nil {
			return nil, nil, err
		}
		f := &followedTree{target: target, scope: o.scopeFor(above.Tops([]*owners.Object{target}))}
		graph, err := r.Scan(ctx, f.scope)
		if err != nil {
			return nil, nil, err
		}
		graph.Add(target)
		for _, up := range above.Tops([]*owners.Object{target}) {
			graph.Add(up)
		}
		return f, graph, nil
	})
}

// Roots gives the trees of a namespace, or of all.
func (o *Owners) Roots(ctx context.Context, namespace string) (document.OwnerTree, error) {
	return o.grow(ctx, "owners "+explain.Scope(namespace), func(ctx context.Context, r *owners.Reader) (*followedTree, *owners.Graph, error) {
		f := &followedTree{scope: owners.Scope{Namespaces: []string{namespace}}}
		if namespace == "" {
			f.scope = owners.Scope{Everywhere: true}
			if own := o.namespace(); own != "" {
				f.scope.Namespaces = []string{own}
			}
		}
		graph, err := r.Scan(ctx, f.scope)
		return f, graph, err
	})
}

// grow answers from the tree that is followed, if it is that one and fresh
// enough, or reads it anew.
func (o *Owners) grow(ctx context.Context, id string, read func(context.Context, *owners.Reader) (*followedTree, *owners.Graph, error)) (document.OwnerTree, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o.turn.Lock()
	defer o.turn.Unlock()
	started := o.Now()
	if f := o.Followed; f != nil && f.id == id && started.Sub(f.at) < max(rescanAfter, 20*f.took) {
		f.idle.Reset(idleAfter)
		if tree, err := o.draw(ctx, f, f.live.Graph(), started); err == nil && len(tree.Roots) > 0 {
			return tree, nil
		}
	}
	o.leave()
	r, err := o.reader()
	if err != nil {
		return document.OwnerTree{}, err
	}
	f, graph, err := read(ctx, r)
	if err != nil {
		return document.OwnerTree{}, explain.Error(err, "read the "+id)
	}
	f.id, f.reader, f.at = id, r, started
	tree, err := o.draw(ctx, f, graph, started)
	if err != nil {
		return document.OwnerTree{}, explain.Error(err, "read the "+id)
	}
	f.took = o.Now().Sub(started)
	if graph.Len() <= maxFollowed {
		var following context.Context
		following, f.stop = context.WithCancel(context.Background())
		f.live = r.Follow(following, graph, f.scope, tree.Roots)
		f.idle = time.AfterFunc(idleAfter, func() { o.forget(f) })
		o.Followed = f
	}
	return tree, nil
}

// draw makes the trees of a graph, with what is known of the owners above and
// with status.
func (o *Owners) draw(ctx context.Context, f *followedTree, graph *owners.Graph, started time.Time) (document.OwnerTree, error) {
	tree := document.OwnerTree{Context: o.context, Roots: []*document.OwnerNode{}}
	kinds, err := f.reader.Kinds(ctx)
	if err != nil {
		return tree, err
	}
	var roots []*owners.Object
	if f.target == nil {
		if err := f.reader.CompleteOwners(ctx, graph, graph.Dependent()); err != nil {
			return tree, err
		}
		roots = graph.Roots()
	} else if target := graph.Object(f.target.UID); target != nil {
		if err := f.reader.ClimbFrom(ctx, graph, target); err != nil {
			return tree, err
		}
		roots = graph.Tops([]*owners.Object{target})
		uids := make([]string, len(roots))
		for i, root := range roots {
			uids[i] = root.UID
		}
		if err := f.reader.CompleteOwners(ctx, graph, append(graph.Descendants(uids...), roots...)); err != nil {
			return tree, err
		}
	}
	tree.Roots = append(tree.Roots, graph.Families(roots)...)
	for _, root := range tree.Roots {
		root.Walk(func(n *document.OwnerNode) {
			n.Target = f.target != nil && !n.Absent && n.Object.UID == f.target.UID
		})
	}
	if tree.StatusNotRead, err = f.reader.Status(ctx, graph, tree.Roots, tuiStatusLimit); err != nil {
		return tree, err
	}
	for _, t := range kinds.NotOwnable() {
		tree.NotOwnable = append(tree.NotOwnable, t.String())
	}
	tree.Gaps, tree.Cost = f.reader.Gaps(), f.reader.Cost()
	tree.Cost.Duration = o.Now().Sub(started)
	return tree, nil
}

// Cascade previews a deletion. Its policies share what was read for a moment.
func (o *Owners) Cascade(ctx context.Context, object state.Ref, policy document.CascadePolicy) (document.Cascade, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o.previews.Lock()
	defer o.previews.Unlock()
	started := o.Now()
	id := object.String() + " " + object.UID
	if o.Previewed == nil || o.Previewed.id != id || started.Sub(o.Previewed.at) >= CascadeFor {
		o.Previewed = nil
		p, err := o.readPreview(ctx, object)
		if err != nil {
			return document.Cascade{}, explain.Error(err, "read what the deletion of "+object.String()+" can touch")
		}
		p.id, p.at = id, o.Now()
		o.Previewed = p
	}
	p := o.Previewed
	cascade := p.graph.Cascade(p.targets, policy)
	cascade.Context, cascade.Gaps, cascade.Cost = cmp.Or(o.context, cascade.Context), p.gaps, p.cost
	cascade.Complete = len(p.gaps) == 0
	return cascade, nil
}

func (o *Owners) readPreview(ctx context.Context, object state.Ref) (*preview, error) {
	started := o.Now()
	r, err := o.reader()
	if err != nil {
		return nil, err
	}
	target, err := o.target(ctx, r, object)
	if err != nil {
		return nil, err
	}
	if object.UID != "" && target.UID != object.UID {
		return nil, fmt.Errorf("%s is another object now, with the uid %s: look at its tree anew", object, target.UID)
	}
	targets := []*owners.Object{target}
	p := &preview{}
	if p.graph, p.targets, err = r.ScanAround(ctx, o.scopeFor(targets), targets); err != nil {
		return nil, err
	}
	p.gaps, p.cost = r.Gaps(), r.Cost()
	p.cost.Duration = o.Now().Sub(started)
	return p, nil
}
