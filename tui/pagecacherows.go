package tui

import (
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// cacheColumns are all columns, in their order.
func cacheColumns() []column {
	return []column{
		{title: "NAMESPACE", max: 24, drop: 3},
		{title: "NAME", grow: true, min: 28},
		{title: "READY", max: 12},
		{title: "STATUS", max: 24},
		{title: "AGE", aging: true, right: true, min: 4},
		{title: "CHANGED", aging: true, right: true, drop: 2},
		{title: "VERSION", right: true, max: 14, drop: 4},
		{title: "OWNER", max: 40, drop: 1},
		{title: "FINALIZERS", right: true, drop: 5},
		{title: "LABELS", max: 60, drop: 1},
	}
}

// cacheRows is the window as rows of a list: those outside are not loaded.
type cacheRows struct {
	*cacheLevel
	env *env
}

func (r cacheRows) Len() int { return r.window.Total }

func (r cacheRows) row(i int) (CacheRow, bool) {
	if at := i - r.window.Offset; at >= 0 && at < len(r.window.Rows) {
		return r.window.Rows[at], true
	}
	return CacheRow{}, false
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

func (r cacheRows) Cells(i int) []cell {
	row, ok := r.row(i)
	if !ok {
		return []cell{word("…", styleDim)}
	}
	out := make([]cell, len(r.columns))
	for j, name := range r.columns {
		out[j] = r.cell(row, name)
	}
	return out
}

func (r cacheRows) cell(row CacheRow, name string) cell {
	e := r.env
	switch name {
	case "NAMESPACE":
		return word(row.Namespace, styleDim)
	case "NAME":
		return plainCell(row.Name)
	case "READY":
		if row.Status != nil {
			return word(row.Status.Ready, healthStyle(row.Status.Health))
		}
	case "STATUS":
		switch {
		case !row.Deleting.IsZero():
			return word("deleting", styleWarn)
		case row.Status != nil:
			return word(row.Status.State, healthStyle(row.Status.Health))
		}
	case "AGE":
		return plainCell(e.ago(row.Created))
	case "CHANGED":
		return plainCell(e.ago(row.Changed))
	case "VERSION":
		return word(row.ResourceVersion, styleDim)
	case "OWNER":
		if row.Owner != nil {
			return word(row.Owner.Resource+"/"+row.Owner.Name, styleDim)
		}
	case "FINALIZERS":
		return word(count(row.Finalizers), warnIf(!row.Deleting.IsZero()))
	case "LABELS":
		return word(labelText(row.Labels), styleDim)
	}
	return nil
}

func healthStyle(h document.Health) styleName {
	switch h {
	case document.HealthReady:
		return styleGood
	case document.HealthProgressing:
		return styleWarn
	case document.HealthFailed:
		return styleBad
	}
	return styleText
}

func labelText(labels map[string]string) string {
	out := make([]string, 0, len(labels))
	for k, v := range labels {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
