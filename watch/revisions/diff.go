package revisions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Live names the object's current state instead of a revision.
const Live = "live"

// maxValue is the maximum length of a value in a diff, in bytes: scripts in a template
// must be shown completely.
const maxValue = 8 << 10

// ParseRange parses "3..4", "3..live" or "3", which compares with the object's current
// state.
func ParseRange(text string) (from, to string, err error) {
	from, to, both := strings.Cut(text, "..")
	if !both {
		to = Live
	}
	for _, side := range []string{from, to} {
		if _, err := strconv.ParseUint(side, 10, 63); err != nil && side != Live {
			return "", "", fmt.Errorf("%q is not a range of revisions: use 3..4, or 3 to compare revision 3 with the newest", text)
		}
	}
	return from, to, nil
}

// Diff compares the templates of two revisions, each a number or Live. It also accepts
// a number that a revision had before a rollback.
func (h *History) Diff(from, to string) (state.RevisionDiff, error) {
	diff := state.RevisionDiff{Object: h.ref(), ObjectKind: h.target.Kind, From: from, To: to}
	old, oldNote, oldErr := h.content(from)
	new, newNote, newErr := h.content(to)
	if err := errors.Join(oldErr, newErr); err != nil {
		return diff, err
	}
	for _, note := range []string{oldNote, newNote} {
		if note != "" {
			diff.Remarks = append(diff.Remarks, note)
		}
	}
	diff.Changes = redact.Diff(h.ref(), old, new, redact.DiffOptions{MaxValue: maxValue})
	diff.HasChanges = len(diff.Changes) > 0
	return diff, nil
}

// content is the part of the object that a revision stores.
func (h *History) content(revision string) (content map[string]any, note string, err error) {
	if revision == Live {
		return h.liveContent(), "", nil
	}
	number, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		return nil, "", fmt.Errorf("%q is not a revision number", revision)
	}
	record, current, err := h.find(number)
	if err != nil {
		return nil, "", err
	}
	if current != number {
		note = fmt.Sprintf("revision %d became revision %d in a rollback", number, current)
	}
	return h.recordContent(record), note, nil
}

func (h *History) recordContent(record *unstructured.Unstructured) map[string]any {
	if h.isDeployment() {
		return map[string]any{"spec": map[string]any{"template": h.template(record)}}
	}
	data, _, _ := unstructured.NestedMap(record.Object, "data")
	dropPatchWords(data)
	return data
}

// liveContent is the part of the object that revisions store: the template, and for a
// custom type every field that its newest revision has.
func (h *History) liveContent() map[string]any {
	spec := map[string]any{"template": h.liveTemplate()}
	if len(h.records) > 0 && !h.isDeployment() {
		recorded, _, _ := unstructured.NestedMap(h.records[len(h.records)-1].Object, "data", "spec")
		for field := range recorded {
			if value, found, _ := unstructured.NestedFieldCopy(h.object.Object, "spec", field); found && field != "$patch" {
				spec[field] = value
			}
		}
	}
	return map[string]any{"spec": spec}
}

// dropPatchWords removes the directives of a strategic merge patch.
func dropPatchWords(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "$patch")
		for _, item := range v {
			dropPatchWords(item)
		}
	case []any:
		for _, item := range v {
			dropPatchWords(item)
		}
	}
}

// find returns the record of a revision and its current number, which differs if the
// requested number is from before a rollback.
func (h *History) find(number int64) (record *unstructured.Unstructured, today int64, err error) {
	var known []string
	for _, r := range h.records {
		n, past, ok := h.number(r)
		switch {
		case ok && n == number:
			return r, number, nil
		case ok && slices.Contains(past, number):
			record, today = r, n
		}
	}
	if record != nil {
		return record, today, nil
	}
	for _, r := range h.List().Items {
		known = append(known, strconv.FormatInt(r.Revision, 10))
	}
	if len(known) == 0 {
		return nil, 0, fmt.Errorf("%s %s has no revisions", h.target.Kind, where(h.target))
	}
	return nil, 0, fmt.Errorf("%s %s has no revision %d: it has %s", h.target.Kind, where(h.target), number, strings.Join(known, ", "))
}

// copyOf is a deep copy of an object's fields.
func copyOf(object *unstructured.Unstructured) map[string]any {
	return runtime.DeepCopyJSON(object.Object)
}
