package owners

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// report returns a finished simulation as data.
func (p *play) report(targets []*Object, policy document.CascadePolicy) document.Cascade {
	c := document.Cascade{
		APIVersion: document.PlanAPIVersion, Kind: document.CascadeKind, Policy: policy,
		Complete: true, Objects: []document.CascadeObject{},
	}
	isTarget := map[string]bool{}
	for _, t := range targets {
		c.Targets = append(c.Targets, t.Ref)
		isTarget[t.UID] = true
	}
	concerned := slices.Clone(targets)
	for _, d := range p.reached(targets) {
		if !isTarget[d.UID] {
			concerned = append(concerned, d)
		}
	}
	for _, o := range concerned {
		n := p.nodes[o.UID]
		c.Objects = append(c.Objects, p.row(n))
		c.Absent = append(c.Absent, p.ignored(n)...)
	}
	slices.SortStableFunc(c.Objects, compareReported)
	number(c.Objects)
	slices.SortFunc(c.Absent, func(a, b document.CascadeReference) int {
		return strings.Compare(a.Dependent.String(), b.Dependent.String())
	})
	c.Notes = p.notes(targets, c.Objects)
	return c
}

// number renumbers the steps of sorted objects to 1, 2, 3 without gaps.
func number(objects []document.CascadeObject) {
	step, last := 0, 0
	for i := range objects {
		switch objects[i].Step {
		case 0:
			return
		case last:
		default:
			step, last = step+1, objects[i].Step
		}
		objects[i].Step = step
	}
}

// reached are the dependents and the content of the targets, as far as the deletion can
// affect them: the walk stops at objects that remain unchanged.
func (p *play) reached(targets []*Object) []*Object {
	seen := map[string]bool{}
	var list []*Object
	for work := targets; len(work) > 0; {
		uids := make([]string, len(work))
		for i, o := range work {
			uids[i] = o.UID
		}
		found := append(slices.Clone(work), p.graph.Descendants(uids...)...)
		work = nil
		for _, d := range found {
			if seen[d.UID] {
				continue
			}
			seen[d.UID] = true
			n := p.nodes[d.UID]
			for _, item := range n.content {
				work = append(work, item.Object)
			}
			direct := slices.ContainsFunc(d.Owners, func(r document.OwnerRef) bool {
				owner := p.nodes[r.UID]
				return owner != nil && owner.touched && owner.deleting
			})
			if n.touched || direct || len(p.within[d.UID]) > 0 {
				list = append(list, d)
			}
		}
	}
	slices.SortFunc(list, compareObjects)
	return list
}

// row describes what happens to one object.
func (p *play) row(n *node) document.CascadeObject {
	row := document.CascadeObject{Object: n.OwnedObject, Step: n.step, Policy: n.policy, Why: n.why, Dropped: n.dropped}
	for _, f := range n.heldBy {
		row.HeldBy = append(row.HeldBy, document.CascadeFinalizer{Name: f, ServedBy: servedBy(f), SetBy: n.setBy[f]})
	}
	switch {
	case n.gone && len(n.heldBy) > 0:
		row.Fate = document.FateHeld
	case n.gone && n.conditional:
		row.Fate = document.FateBehind
		if held := n.held(); len(held) > 0 {
			n.behind = held[:min(len(held), maxBehind)]
		}
		for _, b := range n.behind {
			row.Behind = append(row.Behind, b.Ref)
		}
	case n.gone:
		row.Fate = document.FateDeleted
	case n.deleting && n.touched:
		p.waiting(n, &row)
	case n.verdict != "":
		p.givenUp(n, &row)
	case len(n.owners) == 0 && len(n.dropped) > 0:
		row.Fate, row.Why = document.FateOrphaned, "its owner is deleted with propagation policy Orphan, and it has no other owner"
	default:
		row.Fate = document.FateSurvives
		p.kept(n, &row)
	}
	if row.Why == "" {
		row.Why = "it was already being deleted"
	}
	return row
}

// waiting describes an object that is marked for deletion and never deleted: a
// dependent that GC does not delete blocks it.
func (p *play) waiting(n *node, row *document.CascadeObject) {
	row.Fate = document.FateStuck
	if n.has(contentFinalizer) && len(p.graph.kinds.Failed()) > 0 {
		row.Why = "the namespace controller does not finish before it has discovered all types; it cannot discover " + listing(p.undiscovered())
		return
	}
	var names []string
	for _, d := range p.blocking(n) {
		names = append(names, d.Ref.String())
		if len(row.Behind) < maxBehind {
			row.Behind = append(row.Behind, d.Ref)
		}
	}
	row.Why = "its foreground deletion waits for objects that GC does not delete: " + listing(names)
}

func (p *play) givenUp(n *node, row *document.CascadeObject) {
	for _, ref := range n.owners {
		if v, why := p.graph.Verdict(n.Object, ref); v == n.verdict {
			owner := ref.Kind + " " + ref.Name
			switch v {
			case document.OwnerUnresolvable:
				row.Fate, row.Why = document.FateStuck, "GC cannot look up its owner "+owner+" and retries indefinitely: "+why
			case document.OwnerInvalid:
				row.Fate, row.Why = document.FateStuck, "GC stops processing it: "+why+" ("+owner+")"
			default:
				row.Fate, row.Why = document.FateUnknown, "unknown whether its owner "+owner+" exists: "+why
			}
			return
		}
	}
}

// kept names the owners that keep an object.
func (p *play) kept(n *node, row *document.CascadeObject) {
	var names []string
	for _, ref := range n.owners {
		if v := p.verdict(n, ref); v == document.OwnerPresent {
			row.KeptBy = append(row.KeptBy, ref)
			names = append(names, ref.Kind+" "+ref.Name)
		}
	}
	switch {
	case len(names) > 0:
		row.Why = "it has another owner: " + listing(names)
	case n.deleting:
		row.Why = "it was already being deleted"
	default:
		row.Why = "GC does not process it"
	}
}

// ignored are the references that GC does not follow, as they were before.
func (p *play) ignored(n *node) []document.CascadeReference {
	var list []document.CascadeReference
	for _, ref := range n.Owners {
		switch v, why := p.graph.Verdict(n.Object, ref); v {
		case document.OwnerAbsent, document.OwnerUnresolvable, document.OwnerInvalid:
			list = append(list, document.CascadeReference{Dependent: n.Ref, Owner: ref, Verdict: v, Why: why})
		}
	}
	return list
}

func (p *play) notes(targets []*Object, objects []document.CascadeObject) []string {
	var notes []string
	for _, t := range targets {
		if note := special(t); note != "" {
			notes = append(notes, note)
		}
		if c := p.controllerOf(t); c != nil {
			notes = append(notes, fmt.Sprintf("%s is managed by %s, which remains: its controller will replace it", t.Ref, c.Ref))
		}
		if claims := p.claimsLeft(t); len(claims) > 0 {
			notes = append(notes, fmt.Sprintf("%s: by their names, claims of %s without an owner: they and their data remain (persistentVolumeClaimRetentionPolicy.whenDeleted: Retain)", listing(claims), t.Ref))
		}
		if !t.Deleting.IsZero() {
			note := fmt.Sprintf("%s has been terminating since %s", t.Ref, t.Deleting.Format("2006-01-02T15:04:05Z"))
			if held := p.nodes[t.UID].held(); len(held) > 0 {
				note += fmt.Sprintf(", and is stuck: it waits for %s, held by %s", held[0].Ref, listing(held[0].heldBy))
				if len(held) > 1 {
					note += fmt.Sprintf(", and %d more", len(held)-1)
				}
			}
			notes = append(notes, note)
		}
	}
	goes := func(resource string) bool {
		return slices.ContainsFunc(objects, func(o document.CascadeObject) bool {
			return o.Object.Group == "" && o.Object.Resource == resource && o.Step > 0
		})
	}
	if goes("persistentvolumeclaims") {
		notes = append(notes, "the data of a deleted claim depends on its PersistentVolume: reclaim policy Delete deletes it")
	}
	if goes("pods") {
		notes = append(notes, "a running pod is removed once its kubelet has stopped it, at the latest after its grace period")
	}
	if len(p.races) > 0 {
		var names []string
		for _, n := range p.races {
			names = append(names, n.Ref.String())
		}
		notes = append(notes, "no owner waits for the deletion of "+listing(names)+": if the owner is removed before GC processes it, it is deleted before its dependents")
	}
	if failed := p.undiscovered(); len(failed) > 0 {
		notes = append(notes, "GC may not see objects of "+listing(failed)+", which cannot be discovered now: their dependents remain until it is available, and no deletion waits for them")
	}
	return notes
}

// undiscovered are the group versions that could not be discovered.
func (p *play) undiscovered() []string {
	var failed []string
	for gv := range p.graph.kinds.Failed() {
		failed = append(failed, gv.String())
	}
	slices.Sort(failed)
	return failed
}

// claimsLeft are the PersistentVolumeClaims that a StatefulSet created and does not
// own. They can only be recognised by their name, TEMPLATE-STATEFULSET-ORDINAL.
func (p *play) claimsLeft(t *Object) []string {
	if t.Group != "apps" || t.Resource != "statefulsets" {
		return nil
	}
	named := regexp.MustCompile("^.+-" + regexp.QuoteMeta(t.Name) + "-[0-9]+$")
	var names []string
	for _, o := range p.graph.Objects() {
		if o.Group == "" && o.Resource == "persistentvolumeclaims" && o.Namespace == t.Namespace && len(o.Owners) == 0 && named.MatchString(o.Name) {
			names = append(names, o.Ref.String())
		}
	}
	return names
}

// listing joins the first few names.
func listing(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// special describes what controllers other than GC do when an object of some types is
// deleted.
func special(t *Object) string {
	switch {
	case t.isNamespace():
		return "namespace " + t.Name + ": the namespace controller deletes everything in it in the background, pods first, regardless of the policy"
	case t.isCRD():
		return t.String() + ": the API server deletes all objects of the type in the background, regardless of the policy"
	}
	return ""
}

// controllerOf is the existing owner that manages an object and would replace it.
func (p *play) controllerOf(t *Object) *node {
	for _, ref := range t.Owners {
		if owner := p.nodes[ref.UID]; ref.Controller && owner != nil && !owner.gone && !owner.deleting {
			return owner
		}
	}
	return nil
}

func compareReported(a, b document.CascadeObject) int {
	order := func(o document.CascadeObject) int {
		if o.Step == 0 {
			return 1 << 30
		}
		return o.Step
	}
	return cmp.Or(cmp.Compare(order(a), order(b)), strings.Compare(a.Object.Type(), b.Object.Type()),
		strings.Compare(a.Object.Namespace, b.Object.Namespace), strings.Compare(a.Object.Name, b.Object.Name), strings.Compare(a.Object.UID, b.Object.UID))
}
