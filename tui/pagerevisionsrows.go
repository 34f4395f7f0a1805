package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
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
	cells      func(revisionRow) []cell
}

func (r *revisionRows) Len() int           { return len(r.rows) }
func (r *revisionRows) ID(i int) string    { return r.rows[i].id }
func (r *revisionRows) Cells(i int) []cell { return r.cells(r.rows[i]) }

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
func flattenRevisions(lists []state.RevisionList, open map[string]bool, f filter) *revisionRows {
	out := &revisionRows{places: map[string]int{}}
	for i := range lists {
		h := &lists[i]
		out.namespaces = out.namespaces || h.Object.Namespace != lists[0].Object.Namespace
		if !f.matches(historyFields(h)...) {
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
	fields := []string{render.KindName(historyObject(h)), h.Object.Namespace, historyStatus(h).text()}
	for _, r := range h.Items {
		fields = append(fields, r.Hash, r.ChangeCause, r.Object.Name)
		fields = append(fields, r.Images...)
		fields = append(fields, r.Pods...)
	}
	return fields
}

func (r *revisionRows) columns() []column {
	out := []column{{title: "OBJECT", grow: true, min: 22}}
	if r.namespaces {
		out = append(out, column{title: "NAMESPACE", max: 24, drop: 3})
	}
	return append(out,
		column{title: "PODS", right: true, min: 4}, column{title: "STATUS", min: 12, max: 34}, column{title: "AGE", right: true, min: 4},
		column{title: "HASH", max: 12, drop: 2}, column{title: "IMAGES", grow: true, min: 14, ends: true}, column{title: "CHANGE CAUSE", max: 40, drop: 1},
	)
}

func (p *revisionsPage) cells(e *env, r revisionRow) []cell {
	h := r.history
	var out []cell
	if r.revision == nil {
		sign := "- "
		if r.folded {
			sign = "+ "
		}
		out = append(out, cell{styleDim.of(sign), styleBold.of(render.KindName(historyObject(h)))})
	} else {
		sign, style := "    ", styleText
		if at := p.marked(r); at > 0 {
			sign, style = fmt.Sprintf(" *%d ", at), styleAccent
		}
		out = append(out, cell{style.of(sign), style.of(revisionName(r.revision))})
	}
	if p.rows.namespaces {
		out = append(out, word(h.Object.Namespace, styleDim))
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
		return append(out, podCount(h, pods), historyStatus(h), plainCell(e.ago(newest.Created)), word(update.Hash, styleDim),
			plainCell(strings.Join(update.Images, " ")), word(update.ChangeCause, styleDim))
	}
	status := word(render.RevisionStatus(*v), styleGood)
	if v.Update && !v.Current {
		status = word("update", styleWarn)
	}
	return append(out, podCount(h, v.PodCount), status, plainCell(e.ago(v.Created)), word(v.Hash, styleDim),
		plainCell(strings.Join(v.Images, " ")), word(v.ChangeCause, styleDim))
}

// revisionName is "#3", or the object's name where the number is not known.
func revisionName(r *state.Revision) string {
	if r.Revision == 0 {
		return r.Object.Name
	}
	return fmt.Sprintf("#%d", r.Revision)
}

func podCount(h *state.RevisionList, n int) cell {
	if !h.PodsKnown {
		return word("?", styleDim)
	}
	return plainCell(itoa(n))
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
func historyStatus(h *state.RevisionList) cell {
	update, current := marksOf(h)
	var words []string
	style := styleGood
	switch {
	case len(h.Items) == 0:
		words, style = append(words, "no revisions"), styleDim
	case update == nil && current == nil && h.Items[0].Revision == 0:
		words, style = append(words, "numbers not known"), styleDim
	case update == nil:
		words, style = append(words, "not recorded yet"), styleWarn
	case current == nil || update == current:
		words = append(words, "at "+revisionName(update))
	default:
		words, style = append(words, revisionName(current)+" → "+revisionName(update)), styleWarn
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
	return word(strings.Join(words, ", "), style)
}

// marked is the place of a revision among the marks, from 1; 0 where it has none.
func (p *revisionsPage) marked(r revisionRow) int {
	for i, m := range p.marks {
		if r.revision != nil && m.history == historyKey(r.history) && m.record == r.id {
			return i + 1
		}
	}
	return 0
}

// detail is all that is known of a history or a revision.
func (p *revisionsPage) detail(e *env, r *revisionRow, w int) []line {
	if r == nil {
		return nil
	}
	h := r.history
	out := []line{heading(render.KindName(historyObject(h)))}
	out = append(out, fact("namespace", h.Object.Namespace, styleText)...)
	out = append(out, fact("strategy", h.Strategy, styleText)...)
	if h.Partition != nil {
		out = append(out, fact("partition", fmt.Sprintf("%d: pods below this ordinal stay on the current revision", *h.Partition), styleIf(*h.Partition > 0, styleWarn))...)
	}
	if status := historyStatus(h); len(status) > 0 {
		out = append(out, fact("status", status[0].text, status[0].style)...)
	}
	for _, remark := range h.Remarks {
		out = append(out, indent(wrapped(remark, w-2, styleWarn), 1)...)
	}
	if v := r.revision; v != nil {
		out = append(out, p.revisionDetail(e, h, v, w)...)
		return out
	}
	out = append(out, line{}, heading("Revisions"))
	for _, v := range slices.Backward(h.Items) {
		text := revisionName(&v) + "  " + v.Object.Name
		if h.PodsKnown {
			text += fmt.Sprintf(", %d pods", v.PodCount)
		}
		if status := render.RevisionStatus(v); status != "" {
			text += ", " + status
		}
		out = append(out, line{styleText.of(" " + text)})
	}
	return out
}

func (p *revisionsPage) revisionDetail(e *env, h *state.RevisionList, v *state.Revision, w int) []line {
	out := []line{{}, heading("Revision " + revisionName(v))}
	out = append(out, fact("object", v.Object.Type()+"/"+v.Object.Name, styleText)...)
	if len(v.Former) > 0 {
		former := make([]string, len(v.Former))
		for i, n := range v.Former {
			former[i] = fmt.Sprint(n)
		}
		out = append(out, fact("was before", strings.Join(former, ", ")+", until rollbacks to it", styleText)...)
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
	out = append(out, fact("marks", marks, styleGood)...)
	out = append(out, fact("hash", v.Hash, styleText)...)
	if !v.Created.IsZero() {
		out = append(out, fact("created", v.Created.In(e.location()).Format("2006-01-02 15:04:05")+", "+e.ago(v.Created)+" ago", styleText)...)
	}
	if v.ChangeCause != "" {
		out = append(out, line{styleDim.of(" change cause")})
		out = append(out, indent(wrapped(v.ChangeCause, w-4, styleText), 3)...)
	}
	if len(v.Images) > 0 {
		out = append(out, line{}, heading("Images"))
		for _, image := range v.Images {
			out = append(out, line{styleText.of(" " + image)})
		}
	}
	out = append(out, line{}, heading(fmt.Sprintf("Pods that run it: %d", v.PodCount)))
	switch {
	case !h.PodsKnown:
		out[len(out)-1] = heading("Pods that run it: not known")
	case len(v.Pods) == 0:
		out = append(out, line{styleDim.of(" none")})
	}
	for _, pod := range v.Pods {
		out = append(out, line{styleText.of(" " + pod)})
	}
	return out
}
