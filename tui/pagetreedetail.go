package tui

import (
	"cmp"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// plain has every object, folded or not.
func (p *treePage) plain(*env) []plainRow {
	if p.tree == nil {
		return nil
	}
	rows := p.tree.flatten(unfolded, p.filter)
	out := make([]plainRow, 0, len(rows.rows))
	for _, r := range rows.rows {
		text := []string{render.KindName(r.Object)}
		if r.parent >= 0 {
			text = append(text, "below "+render.KindName(rows.rows[r.parent].Object))
		}
		if r.Object.Namespace != "" {
			text = append(text, "namespace "+r.Object.Namespace)
		}
		ready, status := nodeStatus(r.OwnerNode)
		if words := strings.TrimSpace(ready + " " + status.text()); words != "" {
			text = append(text, "status "+words)
		}
		if words := ownership(r.Edge); words != "" {
			text = append(text, "ownership "+words)
		}
		if len(r.Object.Finalizers) > 0 {
			text = append(text, "finalizers "+strings.Join(r.Object.Finalizers, " "))
		}
		if note, _ := nodeNote(r.OwnerNode); note != "" {
			text = append(text, note)
		}
		out = append(out, plainRow{id: r.id, text: strings.Join(text, ", ")})
	}
	return out
}

// detail is all that is known of one object.
func (p *treePage) detail(e *env, r *treeRow, w int) []line {
	if r == nil {
		return nil
	}
	o := r.Object
	out := []line{heading(render.KindName(o))}
	out = append(out, fact("type", o.Type(), styleText)...)
	out = append(out, fact("namespace", cmp.Or(o.Namespace, "none: it is cluster-scoped"), styleText)...)
	out = append(out, fact("uid", o.UID, styleText)...)
	if r.Absent {
		out = append(out, fact("exists", "no: it is known from references to it only", styleWarn)...)
	}
	if !o.Created.IsZero() {
		out = append(out, fact("age", e.ago(o.Created), styleText)...)
	}
	if r.Status != nil {
		out = append(out, fact("status", strings.TrimSpace(r.Status.Ready+" "+r.Status.State), healthStyle(r.Status.Health))...)
		out = append(out, indent(wrapped(r.Status.Message, w-4, styleText), 3)...)
	}
	if !o.Deleting.IsZero() {
		out = append(out, fact("deleting", "since "+e.clock(o.Deleting)+", held by the finalizers below", styleWarn)...)
	}
	out = append(out, fact("last event", lastEvent(e, o.Ref), styleText)...)
	if note, style := nodeNote(r.OwnerNode); note != "" {
		out = append(out, indent(wrapped(note, w-2, style), 1)...)
	}
	out = append(out, line{}, heading("Owners"))
	for _, ref := range o.Owners {
		words := ref.Kind + " " + ref.Name
		if ref.Controller {
			words += ", controller"
		}
		if ref.BlockOwnerDeletion {
			words += ", blockOwnerDeletion"
		}
		_, there := p.rows.byKey[ref.UID]
		if above := r.parent; above >= 0 && above < len(p.rows.rows) && p.rows.rows[above].Object.UID == ref.UID {
			there = true
		}
		if !there {
			words += ", not in this tree"
		}
		out = append(out, indent(wrapped(words, w-2, styleText), 1)...)
	}
	if len(o.Owners) == 0 {
		out = append(out, line{styleDim.of(" none")})
	}
	if e.Owners == nil {
		out = append(out, indent(wrapped("The journal knows the managing owner only: neither others, nor blockOwnerDeletion, finalizers and status.", w-2, styleDim), 1)...)
		return out
	}
	out = append(out, line{}, heading("Finalizers"))
	for _, f := range o.Finalizers {
		out = append(out, line{styleText.of(" " + f)})
	}
	if len(o.Finalizers) == 0 {
		out = append(out, line{styleDim.of(" none")})
	}
	return out
}
