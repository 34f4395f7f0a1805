package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// Input is the input of Compare, which does not modify it.
type Input struct {
	// Baseline is the sandbox before any manifest: its objects are ignored unless a
	// manifest names them.
	Baseline State
	// Start and End are the settled states before and after the change.
	Start, End State
	// Before is the result of applying the base, After of applying the change, Removed
	// of deleting what only the base contains. Each may be nil.
	Before, After, Removed *Applied
	// At is Options.At of After.
	At time.Time
	// Timers and Unsettled come from settling, without anything that differs between
	// runs; Compare adds the timers that it derives from the objects.
	Timers, Unsettled []string
	// KubernetesVersion is the release simulated, "v1.37.1".
	KubernetesVersion string
}

// Compare creates the plan. The package comment describes what it leaves out, and
// document.Plan what it guarantees.
func Compare(in Input) document.Plan {
	w := newWorld(in)
	p := document.Plan{
		APIVersion:        document.PlanAPIVersion,
		Kind:              document.PlanKind,
		KubernetesVersion: in.KubernetesVersion,
		Roots:             []document.PlanNode{},
		Warnings:          w.warnings(in),
		NotSimulated:      w.notSimulated(in),
		Timers:            sorted(slices.Concat(in.Timers, w.timers())),
		Unsettled:         sorted(in.Unsettled),
	}
	for _, members := range w.groups(nil) {
		if node, changed := w.node(members); changed {
			p.Roots = append(p.Roots, node)
		}
	}
	p.FieldDiffs = w.fieldDiffs()
	p.Summary = w.summary(in)
	p.HasChanges = len(p.Roots)+len(p.FieldDiffs) > 0
	return p
}

// sorted is a sorted copy without repetitions, never nil.
func sorted(texts []string) []string {
	out := append([]string{}, texts...)
	slices.Sort(out)
	return slices.Compact(out)
}

// item is one object with its states at both ends; start or end is nil if it does not
// exist.
type item struct {
	identity
	resource   string
	start, end map[string]any
	// result is the result of applying or deleting it, nil if no manifest names it;
	// manifest and oldManifest are the texts of both sides.
	result                *Result
	manifest, oldManifest map[string]any
	parent                *item
	children              []*item
	// pattern is the name with "*" for generated parts.
	pattern string
	// note is a remark for the tree.
	note string
	// action is what happened between the ends; see actionOf.
	action document.PlanAction
}

// content is the object as last seen.
func (i *item) content() map[string]any {
	switch {
	case i.end != nil:
		return i.end
	case i.start != nil:
		return i.start
	default:
		return i.result.After
	}
}

func (i *item) generated() bool { return i.pattern != i.name }

func (i *item) typeName() string { return typeName(i.group, i.kind) }

func (i *item) object() document.PlanObject {
	apiVersion, _ := i.content()["apiVersion"].(string)
	return document.PlanObject{APIVersion: apiVersion, Kind: i.kind, Namespace: i.namespace, Name: i.pattern}
}

// actionOf returns what happened to the object between the ends.
func (w *world) actionOf(i *item) document.PlanAction {
	switch {
	case i.start == nil:
		return document.PlanCreated
	case i.end == nil:
		return document.PlanDeleted
	case uidOf(i.start) != uidOf(i.end):
		return document.PlanReplaced
	case w.differs(i):
		return document.PlanChanged
	default:
		return document.PlanUnchanged
	}
}

// groups are the children of owners (without owner: the roots), sorted; those with the
// same pattern of a generated name are adjacent.
func (w *world) groups(owners []*item) [][]*item {
	var children []*item
	if owners == nil {
		children = w.roots
	}
	for _, owner := range owners {
		children = append(children, owner.children...)
	}
	byPattern := map[identity][]*item{}
	for _, child := range children {
		key := child.identity
		key.name = child.pattern
		byPattern[key] = append(byPattern[key], child)
	}
	var groups [][]*item
	for _, key := range slices.SortedFunc(maps.Keys(byPattern), compareForReading) {
		groups = append(groups, byPattern[key])
	}
	return groups
}

// compareForReading orders objects by namespace, workloads first, and then what
// uses and what serves them: the reverse of the order of creation.
func compareForReading(a, b identity) int {
	return cmp.Or(strings.Compare(a.namespace, b.namespace), cmp.Compare(readingRank(a), readingRank(b)), compareIdentity(a, b))
}

func readingRank(i identity) int {
	phase := phaseOf(i.group, i.kind, true)
	if phase == phaseWorkloads || phase == phasePods {
		return -len(phases)
	}
	return -phase
}

// node describes the members of one group and everything below them. It returns false
// if nothing changed there.
func (w *world) node(members []*item) (document.PlanNode, bool) {
	first := members[0]
	n := document.PlanNode{PlanObject: first.object(), By: document.PlanByControllers}
	for _, m := range members {
		switch m.action {
		case document.PlanCreated:
			n.Counts.Created++
		case document.PlanChanged:
			n.Counts.Changed++
		case document.PlanReplaced:
			n.Counts.Replaced++
		case document.PlanDeleted:
			n.Counts.Deleted++
		default:
			n.Counts.Unchanged++
		}
	}
	n.Action = overall(n.Counts)
	if r := first.result; r != nil {
		n.Source, n.Note = r.Source.String(), r.Note
		n.Implied = r.Action == Implied
		if r.Action != Unchanged {
			n.By = document.PlanByUser
		}
	}
	n.Note = joinNotes(n.Note, first.note, first.deletionNote(), endpointsNote(members), w.claimsNote(members))
	n.Scale = scaleOf(first)
	n.Status = document.PlanTransition{From: statusOf(members, true), To: statusOf(members, false)}
	changed := n.Action != document.PlanUnchanged
	for _, group := range w.groups(members) {
		if child, childChanged := w.node(group); childChanged {
			n.Children = append(n.Children, child)
			changed = true
		}
	}
	slices.SortStableFunc(n.Children, func(a, b document.PlanNode) int { return cmp.Compare(rank(a), rank(b)) })
	return n, changed
}

// rank orders created before deleted dependents of one kind.
func rank(n document.PlanNode) int {
	order := []document.PlanAction{document.PlanCreated, document.PlanReplaced, document.PlanChanged, document.PlanUnchanged, document.PlanDeleted}
	return readingRank(identityOfPlan(n.PlanObject))*len(order) + slices.Index(order, n.Action)
}

func identityOfPlan(o document.PlanObject) identity {
	group, _, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		group = ""
	}
	return identity{group, o.Kind, o.Namespace, o.Name}
}

// overall is the action of a group: that of its members, ignoring unchanged ones. As
// many deleted as created members count as replaced.
func overall(c document.PlanCounts) document.PlanAction {
	if c.Created == c.Deleted && c.Changed == 0 && c.Created > 0 {
		return document.PlanReplaced
	}
	var action document.PlanAction
	for _, some := range []struct {
		count  int
		action document.PlanAction
	}{{c.Created, document.PlanCreated}, {c.Changed, document.PlanChanged}, {c.Replaced, document.PlanReplaced}, {c.Deleted, document.PlanDeleted}} {
		if some.count == 0 {
			continue
		}
		if action != "" {
			return document.PlanChanged
		}
		action = some.action
	}
	return cmp.Or(action, document.PlanUnchanged)
}

func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

func (w *world) summary(in Input) document.PlanSummary {
	s := document.PlanSummary{Controllers: []document.PlanTally{}}
	tallies := map[identity]*document.PlanTally{}
	for _, i := range w.items {
		action := i.action
		if i.result != nil {
			w.countApplied(&s, i, action)
			continue
		}
		if action == document.PlanUnchanged {
			continue
		}
		of := identity{group: i.group, kind: i.kind}
		t := tallies[of]
		if t == nil {
			t = &document.PlanTally{Kind: i.kind}
			tallies[of] = t
		}
		switch action {
		case document.PlanCreated:
			t.Created++
		case document.PlanDeleted:
			t.Deleted++
		case document.PlanReplaced:
			t.Replaced++
		case document.PlanChanged:
			t.Changed++
			if scaleOf(i) != nil {
				t.Scaled++
			}
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(tallies), compareForReading) {
		s.Controllers = append(s.Controllers, *tallies[of])
	}
	return s
}

func (w *world) countApplied(s *document.PlanSummary, i *item, action document.PlanAction) {
	switch i.result.Action {
	case Created:
		s.Create++
	case Changed:
		s.Change++
	case Deleted:
		s.Delete++
	case Unchanged:
		s.Unchanged++
	case Skipped:
		switch action {
		case document.PlanCreated:
			s.Create++
		case document.PlanDeleted:
			s.Delete++
		case document.PlanChanged:
			s.Change++
		default:
			s.Unchanged++
		}
	}
}
