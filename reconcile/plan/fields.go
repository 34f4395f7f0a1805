package plan

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxValue bounds a value in a plan. The API server accepts no larger object: a plan
// has complete values, and its text shows where they differ.
const maxValue = 4 << 20

func (i *item) ref() state.Ref {
	return state.Ref{Group: i.group, Resource: i.resource, Namespace: i.namespace, Name: i.name}
}

func (i *item) diff(from, to map[string]any) []state.FieldChange {
	return redact.Diff(i.ref(), from, to, redact.DiffOptions{MaxValue: maxValue})
}

// differs reports whether an object that exists at both ends changed: in a field, in
// its health, or in what it targets.
func (w *world) differs(i *item) bool {
	if !reflect.DeepEqual(w.normal(i, i.start), w.normal(i, i.end)) {
		return true
	}
	members := []*item{i}
	return statusOf(members, true) != statusOf(members, false) || endpointsNote(members) != ""
}

// fieldDiffs lists the changed fields of all objects that exist at both ends, grouped
// by who changed them.
func (w *world) fieldDiffs() []document.PlanFieldDiff {
	diffs := []document.PlanFieldDiff{}
	for _, i := range w.items {
		diffs = append(diffs, w.fieldDiffsOf(i)...)
	}
	return merged(diffs)
}

func (w *world) fieldDiffsOf(i *item) []document.PlanFieldDiff {
	if i.start == nil || i.end == nil || uidOf(i.start) != uidOf(i.end) {
		return nil
	}
	var diffs []document.PlanFieldDiff
	add := func(by document.PlanBy, changes []state.FieldChange) {
		if len(changes) > 0 {
			diffs = append(diffs, document.PlanFieldDiff{PlanObject: i.object(), By: by, Count: 1, Changes: changes})
		}
	}
	reference := w.normal(i, i.start)
	if i.result != nil && i.result.Action == Changed {
		before, after := restored(i.result.Before, i.oldManifest), restored(i.result.After, i.manifest)
		reference = w.normal(i, after)
		user, server := i.attribute(i.diff(withoutStatus(w.normal(i, before)), withoutStatus(reference)))
		add(document.PlanByUser, user)
		add(document.PlanByServer, server)
	} else if i.result != nil && i.result.Action == Skipped {
		add(document.PlanByUser, i.diff(reference, w.normal(i, i.end)))
		return diffs
	}
	changes := i.diff(reference, w.normal(i, i.end))
	if scaleOf(i) != nil && i.result == nil {
		changes = slices.DeleteFunc(changes, func(c state.FieldChange) bool { return c.Path == "spec.replicas" })
	}
	add(document.PlanByControllers, changes)
	return diffs
}

func withoutStatus(content map[string]any) map[string]any {
	if content == nil {
		return nil
	}
	content = maps.Clone(content)
	delete(content, "status")
	return content
}

// attribute splits the changes of an apply: fields that the old or the new manifest
// sets are the user's, the others are defaults.
func (i *item) attribute(changes []state.FieldChange) (user, server []state.FieldChange) {
	set := map[string]bool{}
	for _, manifest := range []map[string]any{i.withRules(i.manifest), i.withRules(i.oldManifest)} {
		for _, leaf := range redact.Diff(i.ref(), nil, manifest, redact.DiffOptions{MaxChanges: 1 << 20}) {
			path := plainPath(leaf.Path)
			// A Secret's stringData is stored in its data.
			if rest, ok := strings.CutPrefix(path, "stringData"); ok && i.typeName() == "Secret" {
				path = "data" + rest
			}
			set[path] = true
		}
	}
	for _, change := range changes {
		if setsPath(set, plainPath(change.Path)) {
			user = append(user, change)
		} else {
			server = append(server, change)
		}
	}
	return user, server
}

// laterKeys are further fields that identify list elements: a manifest may leave them
// to the API server ("[containerPort=80]" for "[containerPort=80,protocol=TCP]").
var laterKeys = regexp.MustCompile(`(\[\w+=[^,\]]*),[^\]]*\]`)

func plainPath(path string) string { return laterKeys.ReplaceAllString(path, "$1]") }

// setsPath reports whether a leaf is at, above or below a path.
func setsPath(set map[string]bool, path string) bool {
	if set[path] {
		return true
	}
	for leaf := range set {
		if below(leaf, path) || below(path, leaf) {
			return true
		}
	}
	return false
}

func below(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// merged counts equal diffs of objects with the same pattern of name.
func merged(diffs []document.PlanFieldDiff) []document.PlanFieldDiff {
	type entry struct {
		key  string
		diff document.PlanFieldDiff
	}
	byKey := map[string]*entry{}
	out := []document.PlanFieldDiff{}
	for _, d := range diffs {
		key, err := json.Marshal(d)
		if err != nil {
			continue
		}
		if e := byKey[string(key)]; e != nil {
			e.diff.Count++
			continue
		}
		byKey[string(key)] = &entry{key: string(key), diff: d}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		out = append(out, byKey[key].diff)
	}
	slices.SortStableFunc(out, compareDiffs)
	return out
}

func compareDiffs(a, b document.PlanFieldDiff) int {
	if c := compareForReading(identityOfPlan(a.PlanObject), identityOfPlan(b.PlanObject)); c != 0 {
		return c
	}
	order := []document.PlanBy{document.PlanByUser, document.PlanByServer, document.PlanByControllers}
	return slices.Index(order, a.By) - slices.Index(order, b.By)
}
