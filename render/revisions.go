package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// RevisionOptions control a table of revisions.
type RevisionOptions struct {
	Times
	// Wide adds the columns of -o wide.
	Wide bool
	// PodsUnknown is set if the pods could not be read.
	PodsUnknown bool
	// Changes, if not nil, adds a column with the last change of each revision.
	Changes []string
}

// maxNamedPods is how many pods are named in a cell.
const maxNamedPods = 5

// Revisions is a table of revisions, in their order.
func Revisions(list []state.Revision, opts RevisionOptions) Table {
	t := Table{Columns: []Column{
		{Title: "REVISION", Right: true}, {Title: "HASH"}, {Title: "CREATED"}, {Title: "PODS", Right: true}, {Title: "STATUS"},
	}}
	if opts.Wide {
		t.Columns = append(t.Columns, Column{Title: "OBJECT"}, Column{Title: "FORMER"}, Column{Title: "IMAGES"}, Column{Title: "POD NAMES"})
	}
	t.Columns = append(t.Columns, Column{Title: "CHANGE-CAUSE", Max: 100})
	if opts.Changes != nil {
		t.Columns = append(t.Columns, Column{Title: "CHANGE"})
	}
	for i, r := range list {
		pods := strconv.Itoa(r.PodCount)
		if opts.PodsUnknown {
			pods = "?"
		}
		row := []string{strconv.FormatInt(r.Revision, 10), OrNone(r.Hash), opts.Since(r.Created), pods, OrNone(RevisionStatus(r))}
		if opts.Wide {
			row = append(row, strings.TrimSuffix(r.Object.Resource, "s")+"/"+r.Object.Name, OrNone(numbers(r.Former)),
				OrNone(strings.Join(r.Images, ",")), OrNone(someOf(r.Pods)))
		}
		row = append(row, OrNone(r.ChangeCause))
		if opts.Changes != nil {
			row = append(row, opts.Changes[i])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// RevisionStatus is "current" for the revision in use, "update" for the revision that
// is being rolled out.
func RevisionStatus(r state.Revision) string {
	switch {
	case r.Current:
		return "current"
	case r.Update:
		return "update"
	}
	return ""
}

func numbers(list []int64) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, ",")
}

func someOf(names []string) string {
	if len(names) <= maxNamedPods {
		return strings.Join(names, ",")
	}
	return fmt.Sprintf("%s,+%d", strings.Join(names[:maxNamedPods], ","), len(names)-maxNamedPods)
}

// FieldsOptions control a list of changed fields.
type FieldsOptions struct {
	Color bool
}

// WriteRevisionDiff prints the differences between two revisions, field by field.
func WriteRevisionDiff(w io.Writer, d state.RevisionDiff, opts FieldsOptions) error {
	title := fmt.Sprintf("%s %s: revision %s → %s", d.ObjectKind, d.Object.Key(), d.From, d.To)
	if !d.HasChanges {
		title += ": no differences"
	}
	return writeChanges(w, title, d.Changes, d.Remarks, opts)
}

// WriteRevisionUndo prints the changes that a rollback makes to the object.
func WriteRevisionUndo(w io.Writer, u state.RevisionUndo, opts FieldsOptions) error {
	title := fmt.Sprintf("%s %s: rollback to revision %d", u.ObjectKind, u.Object.Key(), u.To)
	if !u.HasChanges {
		title += ": no changes"
	}
	return writeChanges(w, title, u.Changes, u.Remarks, opts)
}

func writeChanges(w io.Writer, title string, changes []state.FieldChange, remarks []string, opts FieldsOptions) error {
	t := planText{opts: PlanOptions(opts)}
	t.print(0, line{{title, bold}})
	for _, change := range changes {
		t.field(change)
	}
	t.list("Remarks", plain, remarks)
	_, err := io.WriteString(w, t.out.String())
	return err
}
