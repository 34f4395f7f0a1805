package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Input is what Compare compares. Nothing in it is modified.
type Input struct {
	// Baseline is the sandbox before any manifest: its objects are nobody's
	// business, unless a manifest names them.
	Baseline State
	// Start and End are the settled states before and after the change.
	Start, End State
	// Before is the outcome of applying the base, After of applying the
	// change, Removed of deleting what only the base has. Each may be nil.
	Before, After, Removed *Applied
	// At is Options.At of After.
	At time.Time
	// Timers and Unsettled are what settling found, in words without anything
	// that differs from run to run; Compare adds the timers it can tell from
	// the objects.
	Timers, Unsettled []string
	// KubernetesVersion is the release simulated, "v1.37.1".
	KubernetesVersion string
}

// Compare makes the plan. See the package comment for what it leaves out and
// state.Plan for what it promises.
func Compare(in Input) state.Plan {
	w := newWorld(in)
	p := state.Plan{
		APIVersion:        state.PlanAPIVersion,
		Kind:              state.PlanKind,
		KubernetesVersion: in.KubernetesVersion,
		Roots:             []state.PlanNode{},
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

// item is one object with its states at both ends; start or end is nil where
// it does not exist.
type item struct {
	identity
	resource   string
	start, end map[string]any
	// result is what applying or deleting did to it, nil for all that no
	// manifest names; manifest and oldManifest are the texts of both sides.
	result                *Result
	manifest, oldManifest map[string]any
	parent                *item
	children              []*item
	// pattern is the name with generated parts as "*".
	pattern string
	// note is a remark for the tree.
	note string
	// action is what happened between the ends; see actionOf.
	action state.PlanAction
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

func (i *item) object() state.PlanObject {
	apiVersion, _ := i.content()["apiVersion"].(string)
	return state.PlanObject{APIVersion: apiVersion, Kind: i.kind, Namespace: i.namespace, Name: i.pattern}
}

// actionOf says what happened to the object between the ends.
func (w *world) actionOf(i *item) state.PlanAction {
	switch {
	case i.start == nil:
		return state.PlanCreated
	case i.end == nil:
		return state.PlanDeleted
	case uidOf(i.start) != uidOf(i.end):
		return state.PlanReplaced
	case w.differs(i):
		return state.PlanChanged
	default:
		return state.PlanUnchanged
	}
}

// groups are the children of owners (of nobody: the roots), sorted; those with
// the same pattern of a generated name stand together.
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

// node describes the members of one group and all below them. It reports false
// if nothing changed there.
func (w *world) node(members []*item) (state.PlanNode, bool) {
	first := members[0]
	n := state.PlanNode{PlanObject: first.object(), By: state.PlanByControllers}
	for _, m := range members {
		switch m.action {
		case state.PlanCreated:
			n.Counts.Created++
		case state.PlanChanged:
			n.Counts.Changed++
		case state.PlanReplaced:
			n.Counts.Replaced++
		case state.PlanDeleted:
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
			n.By = state.PlanByUser
		}
	}
	n.Note = joinNotes(n.Note, first.note, first.deletionNote(), endpointsNote(members), w.claimsNote(members))
	n.Scale = scaleOf(first)
	n.Status = state.PlanTransition{From: statusOf(members, true), To: statusOf(members, false)}
	changed := n.Action != state.PlanUnchanged
	for _, group := range w.groups(members) {
		if child, childChanged := w.node(group); childChanged {
			n.Children = append(n.Children, child)
			changed = true
		}
	}
	slices.SortStableFunc(n.Children, func(a, b state.PlanNode) int { return cmp.Compare(rank(a), rank(b)) })
	return n, changed
}

// rank puts what comes before what goes, among dependents of one kind.
func rank(n state.PlanNode) int {
	order := []state.PlanAction{state.PlanCreated, state.PlanReplaced, state.PlanChanged, state.PlanUnchanged, state.PlanDeleted}
	return readingRank(identityOfPlan(n.PlanObject))*len(order) + slices.Index(order, n.Action)
}

func identityOfPlan(o state.PlanObject) identity {
	group, _, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		group = ""
	}
	return identity{group, o.Kind, o.Namespace, o.Name}
}

// overall is the action of a group: that of its members, leaving those aside
// that stayed as they were. As many deleted as created are replaced.
func overall(c state.PlanCounts) state.PlanAction {
	if c.Created == c.Deleted && c.Changed == 0 && c.Created > 0 {
		return state.PlanReplaced
	}
	var action state.PlanAction
	for _, some := range []struct {
		count  int
		action state.PlanAction
	}{{c.Created, state.PlanCreated}, {c.Changed, state.PlanChanged}, {c.Replaced, state.PlanReplaced}, {c.Deleted, state.PlanDeleted}} {
		if some.count == 0 {
			continue
		}
		if action != "" {
			return state.PlanChanged
		}
		action = some.action
	}
	return cmp.Or(action, state.PlanUnchanged)
}

func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

func (w *world) summary(in Input) state.PlanSummary {
	s := state.PlanSummary{Controllers: []state.PlanTally{}}
	tallies := map[identity]*state.PlanTally{}
	for _, i := range w.items {
		action := i.action
		if i.result != nil {
			w.countApplied(&s, i, action)
			continue
		}
		if action == state.PlanUnchanged {
			continue
		}
		of := identity{group: i.group, kind: i.kind}
		t := tallies[of]
		if t == nil {
			t = &state.PlanTally{Kind: i.kind}
			tallies[of] = t
		}
		switch action {
		case state.PlanCreated:
			t.Created++
		case state.PlanDeleted:
			t.Deleted++
		case state.PlanReplaced:
			t.Replaced++
		case state.PlanChanged:
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

func (w *world) countApplied(s *state.PlanSummary, i *item, action state.PlanAction) {
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
		case state.PlanCreated:
			s.Create++
		case state.PlanDeleted:
			s.Delete++
		case state.PlanChanged:
			s.Change++
		default:
			s.Unchanged++
		}
	}
}
