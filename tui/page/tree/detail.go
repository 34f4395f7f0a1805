package tree

import (
	"cmp"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// Plain has every object, folded or not.
func (p *Page) Plain(*page.Env) []page.Row {
	if p.tree == nil {
		return nil
	}
	rows := p.tree.flatten(unfolded, p.Filter)
	out := make([]page.Row, 0, len(rows.rows))
	for _, r := range rows.rows {
		text := []string{render.KindName(r.Object)}
		if r.parent >= 0 {
			text = append(text, "below "+render.KindName(rows.rows[r.parent].Object))
		}
		if r.Object.Namespace != "" {
			text = append(text, "namespace "+r.Object.Namespace)
		}
		ready, status := nodeStatus(r.OwnerNode)
		if words := strings.TrimSpace(ready + " " + status.Text()); words != "" {
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
		out = append(out, page.Row{ID: r.id, Text: strings.Join(text, ", ")})
	}
	return out
}

// detail is all that is known of one object.
func (p *Page) detail(e *page.Env, r *treeRow, w int) []widget.Line {
	if r == nil {
		return nil
	}
	o := r.Object
	out := []widget.Line{widget.Heading(render.KindName(o))}
	out = append(out, widget.Fact("type", o.Type(), widget.Text)...)
	out = append(out, widget.Fact("namespace", cmp.Or(o.Namespace, "none: it is cluster-scoped"), widget.Text)...)
	out = append(out, widget.Fact("uid", o.UID, widget.Text)...)
	if r.Absent {
		out = append(out, widget.Fact("exists", "no: it is known from references to it only", widget.Warn)...)
	}
	if !o.Created.IsZero() {
		out = append(out, widget.Fact("age", e.Ago(o.Created), widget.Text)...)
	}
	if r.Status != nil {
		out = append(out, widget.Fact("status", strings.TrimSpace(r.Status.Ready+" "+r.Status.State), page.HealthStyle(r.Status.Health))...)
		out = append(out, widget.Indent(widget.Wrapped(r.Status.Message, w-4, widget.Text), 3)...)
	}
	if !o.Deleting.IsZero() {
		out = append(out, widget.Fact("deleting", "since "+e.Clock(o.Deleting)+", held by the finalizers below", widget.Warn)...)
	}
	out = append(out, widget.Fact("last event", lastEvent(e, o.Ref), widget.Text)...)
	if note, style := nodeNote(r.OwnerNode); note != "" {
		out = append(out, widget.Indent(widget.Wrapped(note, w-2, style), 1)...)
	}
	out = append(out, widget.Line{}, widget.Heading("Owners"))
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
		out = append(out, widget.Indent(widget.Wrapped(words, w-2, widget.Text), 1)...)
	}
	if len(o.Owners) == 0 {
		out = append(out, widget.Line{widget.Dim.Of(" none")})
	}
	if e.Owners == nil {
		out = append(out, widget.Indent(widget.Wrapped("The journal knows the managing owner only: neither others, nor blockOwnerDeletion, finalizers and status.", w-2, widget.Dim), 1)...)
		return out
	}
	out = append(out, widget.Line{}, widget.Heading("Finalizers"))
	for _, f := range o.Finalizers {
		out = append(out, widget.Line{widget.Text.Of(" " + f)})
	}
	if len(o.Finalizers) == 0 {
		out = append(out, widget.Line{widget.Dim.Of(" none")})
	}
	return out
}
