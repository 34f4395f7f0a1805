package informers

import (
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// cacheColumns are all columns, in their order.
func cacheColumns() []widget.Column {
	return []widget.Column{
		{Title: "NAMESPACE", Max: 24, Drop: 3},
		{Title: "NAME", Grow: true, Min: 28},
		{Title: "READY", Max: 12},
		{Title: "STATUS", Max: 24},
		{Title: "AGE", Aging: true, Right: true, Min: 4},
		{Title: "CHANGED", Aging: true, Right: true, Drop: 2},
		{Title: "VERSION", Right: true, Max: 14, Drop: 4},
		{Title: "OWNER", Max: 40, Drop: 1},
		{Title: "FINALIZERS", Right: true, Drop: 5},
		{Title: "LABELS", Max: 60, Drop: 1},
	}
}

// cacheRows is the window as rows of a list: those outside are not loaded.
type cacheRows struct {
	*cacheLevel
	env *page.Env
}

func (r cacheRows) Len() int { return r.window.Total }

func (r cacheRows) row(i int) (port.CacheRow, bool) {
	if at := i - r.window.Offset; at >= 0 && at < len(r.window.Rows) {
		return r.window.Rows[at], true
	}
	return port.CacheRow{}, false
}

func (r cacheRows) ID(i int) string {
	row, ok := r.row(i)
	if !ok {
		return ""
	}
	return row.Key()
}

func (r cacheRows) Find(id string) int {
	for i, row := range r.window.Rows {
		if row.Key() == id {
			return r.window.Offset + i
		}
	}
	return -1
}

func (r cacheRows) Cells(i int) []widget.Cell {
	row, ok := r.row(i)
	if !ok {
		return []widget.Cell{widget.Word("…", widget.Dim)}
	}
	out := make([]widget.Cell, len(r.columns))
	for j, name := range r.columns {
		out[j] = r.cell(row, name)
	}
	return out
}

func (r cacheRows) cell(row port.CacheRow, name string) widget.Cell {
	e := r.env
	switch name {
	case "NAMESPACE":
		return widget.Word(row.Namespace, widget.Dim)
	case "NAME":
		return widget.Plain(row.Name)
	case "READY":
		if row.Status != nil {
			return widget.Word(row.Status.Ready, page.HealthStyle(row.Status.Health))
		}
	case "STATUS":
		switch {
		case !row.Deleting.IsZero():
			return widget.Word("deleting", widget.Warn)
		case row.Status != nil:
			return widget.Word(row.Status.State, page.HealthStyle(row.Status.Health))
		}
	case "AGE":
		return widget.Plain(e.Ago(row.Created))
	case "CHANGED":
		return widget.Plain(e.Ago(row.Changed))
	case "VERSION":
		return widget.Word(row.ResourceVersion, widget.Dim)
	case "OWNER":
		if row.Owner != nil {
			return widget.Word(row.Owner.Resource+"/"+row.Owner.Name, widget.Dim)
		}
	case "FINALIZERS":
		return widget.Word(widget.Count(row.Finalizers), widget.WarnIf(!row.Deleting.IsZero()))
	case "LABELS":
		return widget.Word(labelText(row.Labels), widget.Dim)
	}
	return nil
}

func labelText(labels map[string]string) string {
	out := make([]string, 0, len(labels))
	for k, v := range labels {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
