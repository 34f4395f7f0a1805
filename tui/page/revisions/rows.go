package revisions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// revisionRow is a history, or one of its revisions.
type revisionRow struct {
	id       string
	history  *state.RevisionList
	revision *state.Revision
	folded   bool
}

// revisionRows are made anew when the lists, the folds or the filter change.
type revisionRows struct {
	rows       []revisionRow
	places     map[string]int
	namespaces bool
	// causes: a revision has a change cause.
	causes bool
	cells  func(revisionRow) []widget.Cell
}

func (r *revisionRows) Len() int                  { return len(r.rows) }
func (r *revisionRows) ID(i int) string           { return r.rows[i].id }
func (r *revisionRows) Cells(i int) []widget.Cell { return r.cells(r.rows[i]) }

func (r *revisionRows) Find(id string) int {
	if i, ok := r.places[id]; ok {
		return i
	}
	// A revision that is folded away, or gone, leaves its history.
	history, _, _ := strings.Cut(id, "\x00")
	if i, ok := r.places[history]; ok {
		return i
	}
	return -1
}

func historyKey(h *state.RevisionList) string {
	if h.Object.UID != "" {
		return h.Object.UID
	}
	return h.Object.String()
}

// revisionID is the ID of a revision's row.
func revisionID(h *state.RevisionList, r *state.Revision) string {
	record := r.Object.UID
	if record == "" {
		record = r.Object.String()
	}
	return historyKey(h) + "\x00" + record
}

func historyObject(h *state.RevisionList) document.OwnedObject {
	return document.OwnedObject{Ref: h.Object, Kind: h.ObjectKind}
}

// flattenRevisions gives the histories that match, each with its revisions, the
// newest first, where it is unfolded.
func flattenRevisions(lists []state.RevisionList, open map[string]bool, f widget.Filter) *revisionRows {
	out := &revisionRows{places: map[string]int{}}
	for i := range lists {
		h := &lists[i]
		out.namespaces = out.namespaces || h.Object.Namespace != lists[0].Object.Namespace
		for _, r := range h.Items {
			out.causes = out.causes || r.ChangeCause != ""
		}
		if !f.Matches(historyFields(h)...) {
			continue
		}
		key := historyKey(h)
		out.add(revisionRow{id: key, history: h, folded: !open[key]})
		if !open[key] {
			continue
		}
		for j := range slices.Backward(h.Items) {
			r := &h.Items[j]
			out.add(revisionRow{id: revisionID(h, r), history: h, revision: r})
		}
	}
	return out
}

func (r *revisionRows) add(row revisionRow) {
	r.places[row.id] = len(r.rows)
	r.rows = append(r.rows, row)
}

func historyFields(h *state.RevisionList) []string {
	fields := []string{render.KindName(historyObject(h)), h.Object.Namespace, historyStatus(h).Text()}
	for _, r := range h.Items {
		fields = append(fields, r.Hash, r.ChangeCause, r.Object.Name)
		fields = append(fields, r.Images...)
		fields = append(fields, r.Pods...)
	}
	return fields
}

func (r *revisionRows) columns() []widget.Column {
	out := []widget.Column{{Title: "OBJECT", Grow: true, Min: 16, Want: 26}}
	if r.namespaces {
		out = append(out, widget.Column{Title: "NAMESPACE", Max: 24, Drop: 2})
	}
	out = append(out,
		widget.Column{Title: "PODS", Right: true, Min: 4}, widget.Column{Title: "STATUS", Min: 12, Max: 34}, widget.Column{Title: "AGE", Right: true, Min: 4},
		widget.Column{Title: "HASH", Max: 12, Drop: 1}, widget.Column{Title: "IMAGES", Grow: true, Min: 10, Ends: true},
	)
	if r.causes {
		out = append(out, widget.Column{Title: "CHANGE CAUSE", Grow: true, Min: 12, Max: 40, Drop: 3})
	}
	return out
}

func (p *Page) cells(e *page.Env, r revisionRow) []widget.Cell {
	h := r.history
	var out []widget.Cell
	if r.revision == nil {
		sign := "- "
		if r.folded {
			sign = "+ "
		}
		out = append(out, widget.Cell{widget.Dim.Of(sign), widget.Bold.Of(render.KindName(historyObject(h)))})
	} else {
		sign, style := "    ", widget.Text
		if at := p.marked(r); at > 0 {
			sign, style = fmt.Sprintf(" *%d ", at), widget.Accent
		}
		out = append(out, widget.Cell{style.Of(sign), style.Of(revisionName(r.revision))})
	}
	if p.rows.namespaces {
		out = append(out, widget.Word(h.Object.Namespace, widget.Dim))
	}
	v := r.revision
	if v == nil {
		newest := state.Revision{}
		if n := len(h.Items); n > 0 {
			newest = h.Items[n-1]
		}
		pods := 0
		for _, item := range h.Items {
			pods += item.PodCount
		}
		update, _ := marksOf(h)
		if update == nil {
			update = &state.Revision{}
		}
		return append(out, podCount(h, pods), historyStatus(h), widget.Plain(e.Ago(newest.Created)), widget.Word(update.Hash, widget.Dim),
			widget.Plain(strings.Join(update.Images, " ")), widget.Word(update.ChangeCause, widget.Dim))
	}
	status := widget.Word(render.RevisionStatus(*v), widget.Good)
	if v.Update && !v.Current {
		status = widget.Word("update", widget.Warn)
	}
	return append(out, podCount(h, v.PodCount), status, widget.Plain(e.Ago(v.Created)), widget.Word(v.Hash, widget.Dim),
		widget.Plain(strings.Join(v.Images, " ")), widget.Word(v.ChangeCause, widget.Dim))
}

// revisionName is "#3", or the object's name where the number is not known.
func revisionName(r *state.Revision) string {
	if r.Revision == 0 {
		return r.Object.Name
	}
	return fmt.Sprintf("#%d", r.Revision)
}

func podCount(h *state.RevisionList, n int) widget.Cell {
	if !h.PodsKnown {
		return widget.Word("?", widget.Dim)
	}
	return widget.Plain(strconv.Itoa(n))
}

// marksOf are the revision that the object asks for, and the one that its pods
// are expected to run otherwise; nil where there is none.
func marksOf(h *state.RevisionList) (update, current *state.Revision) {
	for i := range h.Items {
		if h.Items[i].Update {
			update = &h.Items[i]
		}
		if h.Items[i].Current {
			current = &h.Items[i]
		}
	}
	return update, current
}

// historyStatus is where an object stands in its history.
func historyStatus(h *state.RevisionList) widget.Cell {
	update, current := marksOf(h)
	var words []string
	style := widget.Good
	switch {
	case len(h.Items) == 0:
		words, style = append(words, "no revisions"), widget.Dim
	case update == nil && current == nil && h.Items[0].Revision == 0:
		words, style = append(words, "numbers not known"), widget.Dim
	case update == nil:
		words, style = append(words, "not recorded yet"), widget.Warn
	case current == nil || update == current:
		words = append(words, "at "+revisionName(update))
	default:
		words, style = append(words, revisionName(current)+" → "+revisionName(update)), widget.Warn
	}
	if h.Partition != nil && *h.Partition > 0 {
		words = append(words, fmt.Sprintf("partition %d", *h.Partition))
	}
	if h.Paused {
		words = append(words, "paused")
	}
	if h.Strategy == "OnDelete" {
		words = append(words, "OnDelete")
	}
	return widget.Word(strings.Join(words, ", "), style)
}

// marked is the place of a revision among the marks, from 1; 0 where it has none.
func (p *Page) marked(r revisionRow) int {
	for i, m := range p.marks {
		if r.revision != nil && m.history == historyKey(r.history) && m.record == r.id {
			return i + 1
		}
	}
	return 0
}

// detail is all that is known of a history or a revision.
func (p *Page) detail(e *page.Env, r *revisionRow, w int) []widget.Line {
	if r == nil {
		return nil
	}
	h := r.history
	out := []widget.Line{widget.Heading(render.KindName(historyObject(h)))}
	out = append(out, widget.Fact("namespace", h.Object.Namespace, widget.Text)...)
	out = append(out, widget.Fact("strategy", h.Strategy, widget.Text)...)
	if h.Partition != nil {
		out = append(out, widget.Fact("partition", fmt.Sprintf("%d: pods below this ordinal stay on the current revision", *h.Partition), widget.StyleIf(*h.Partition > 0, widget.Warn))...)
	}
	if status := historyStatus(h); len(status) > 0 {
		out = append(out, widget.Fact("status", status[0].Text, status[0].Style)...)
	}
	for _, remark := range h.Remarks {
		out = append(out, widget.Indent(widget.Wrapped(remark, w-2, widget.Warn), 1)...)
	}
	if v := r.revision; v != nil {
		out = append(out, p.revisionDetail(e, h, v, w)...)
		return out
	}
	out = append(out, widget.Line{}, widget.Heading("Revisions"))
	for _, v := range slices.Backward(h.Items) {
		text := revisionName(&v) + "  " + v.Object.Name
		if h.PodsKnown {
			text += fmt.Sprintf(", %d pods", v.PodCount)
		}
		if status := render.RevisionStatus(v); status != "" {
			text += ", " + status
		}
		out = append(out, widget.Line{widget.Text.Of(" " + text)})
	}
	return out
}

func (p *Page) revisionDetail(e *page.Env, h *state.RevisionList, v *state.Revision, w int) []widget.Line {
	out := []widget.Line{{}, widget.Heading("Revision " + revisionName(v))}
	out = append(out, widget.Fact("object", v.Object.Type()+"/"+v.Object.Name, widget.Text)...)
	if len(v.Former) > 0 {
		former := make([]string, len(v.Former))
		for i, n := range v.Former {
			former[i] = fmt.Sprint(n)
		}
		out = append(out, widget.Fact("was before", strings.Join(former, ", ")+", until rollbacks to it", widget.Text)...)
	}
	marks := ""
	switch {
	case v.Current && v.Update:
		marks = "current, and what the object asks for"
	case v.Current:
		marks = "current: what pods run that are not updated"
	case v.Update:
		marks = "update: what the object asks for now"
	}
	out = append(out, widget.Fact("marks", marks, widget.Good)...)
	out = append(out, widget.Fact("hash", v.Hash, widget.Text)...)
	if !v.Created.IsZero() {
		out = append(out, widget.Fact("created", v.Created.In(e.Zone()).Format("2006-01-02 15:04:05")+", "+e.Ago(v.Created)+" ago", widget.Text)...)
	}
	if v.ChangeCause != "" {
		out = append(out, widget.Line{widget.Dim.Of(" change cause")})
		out = append(out, widget.Indent(widget.Wrapped(v.ChangeCause, w-4, widget.Text), 3)...)
	}
	if len(v.Images) > 0 {
		out = append(out, widget.Line{}, widget.Heading("Images"))
		for _, image := range v.Images {
			out = append(out, widget.Line{widget.Text.Of(" " + image)})
		}
	}
	out = append(out, widget.Line{}, widget.Heading(fmt.Sprintf("Pods that run it: %d", v.PodCount)))
	switch {
	case !h.PodsKnown:
		out[len(out)-1] = widget.Heading("Pods that run it: not known")
	case len(v.Pods) == 0:
		out = append(out, widget.Line{widget.Dim.Of(" none")})
	}
	for _, pod := range v.Pods {
		out = append(out, widget.Line{widget.Text.Of(" " + pod)})
	}
	return out
}
