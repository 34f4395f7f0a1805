package render

import (
	"strconv"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// StoreOptions shape a table of informers.
type StoreOptions struct {
	Times Times
	Wide  bool
}

// Informers is a table of informers and what they hold.
func Informers(stores []state.StoreStats, o StoreOptions) Table {
	t := Table{Columns: []Column{
		{Title: "TYPE"}, {Title: "OBJECTS", Right: true}, {Title: "RESOURCEVERSION", Right: true}, {Title: "SYNCED"},
		{Title: "STATUS"}, {Title: "LAST EVENT"}, {Title: "RV CHANGED"}, {Title: "RELISTS", Right: true}, {Title: "HANDLERS", Right: true},
	}}
	if o.Wide {
		t.Columns = append(t.Columns, Column{Title: "VERSION"}, Column{Title: "EVENTS", Right: true}, Column{Title: "OF"}, Column{Title: "LAST RELIST", Max: 80}, Column{Title: "REASON", Max: 80})
	}
	for _, s := range stores {
		name := s.Type
		if s.Metadata {
			name += " (metadata)"
		}
		synced := "no"
		if s.Synced {
			synced = "yes"
		}
		row := []string{
			name, strconv.Itoa(s.Objects), orNoFigure(s.ResourceVersion), synced, OrNone(string(s.Status)),
			o.Times.Since(s.LastEvent),
			o.Times.Since(s.LastMoved),
			strconv.Itoa(s.Relists), strconv.Itoa(len(s.Handlers)),
		}
		if o.Wide {
			row = append(row, OrNone(s.Version), number(s.Events), handlers(s.Handlers), OrNone(s.LastRelist), s.Reason)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// handlers names the controllers that registered handlers, with a count if there are
// several.
func handlers(all []state.HandlerStats) string {
	var names []string
	counts := map[string]int{}
	for _, h := range all {
		if name := ShortName(h.Controller); counts[name] == 0 {
			names = append(names, name)
		}
		counts[ShortName(h.Controller)]++
	}
	for i, name := range names {
		if n := counts[name]; n > 1 {
			names[i] += "×" + strconv.Itoa(n)
		}
	}
	return OrNone(strings.Join(names, ","))
}

// Cache is a table of the objects in a store.
func Cache(view state.CacheView, o StoreOptions) Table {
	t := Table{Columns: []Column{{Title: "NAMESPACE"}, {Title: "NAME"}, {Title: "RESOURCEVERSION", Right: true}, {Title: "CREATED"}, {Title: "DELETED"}}}
	if o.Wide {
		t.Columns = append(t.Columns, Column{Title: "UID"})
	}
	for _, c := range view.Objects {
		row := []string{
			OrNone(c.Namespace), c.Name, orNoFigure(c.ResourceVersion),
			o.Times.Since(c.Created),
			o.Times.Since(c.Deleting),
		}
		if o.Wide {
			row = append(row, OrNone(c.UID))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Freshness compares a store with its API server in one sentence.
func Freshness(view state.CacheView, o StoreOptions) string {
	s := view.Store
	text := s.Type + ": " + counted(s.Objects, "object", "objects")
	if s.ResourceVersion != "" {
		text += " at resourceVersion " + s.ResourceVersion
	}
	switch {
	case !s.Synced:
		text += ", not synced yet"
	case s.LastMoved.IsZero():
	case o.Times.Ages:
		text += ", changed " + o.Times.Since(s.LastMoved) + " ago"
	default:
		text += ", changed at " + o.Times.Since(s.LastMoved)
	}
	if v := view.Server; v != nil {
		text += "; "
		switch v.Freshness {
		case state.Current:
			text += "current"
		case state.Behind:
			text += "stale: the server has " + v.ResourceVersion
		case state.Undecided:
			text += "the server has " + v.ResourceVersion
		case state.Gone:
			text += "deleted on the server"
		case state.Missing:
			text += "missing: the server has it at " + v.ResourceVersion
		default:
			text += "not compared"
		}
		if v.Reason != "" {
			text += ": " + v.Reason
		}
	}
	return Sanitise(text)
}
