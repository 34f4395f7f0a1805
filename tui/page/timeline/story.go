package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/detail"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
)

// story is the cascade in which one subject stands, as rows.
type story struct {
	of     page.Subject
	list   widget.List
	filter widget.Filter
	// apart has the groups whose members are shown one by one.
	apart map[string]bool

	links *causality.Links
	// found: the cursor has been put on what the story is about.
	found    bool
	branches []*causality.Branch
	all      []*storyRow
	// items are those of all that the filter shows.
	items []*storyRow
	place map[string]int
}

// storyRow is a branch, with the lines drawn before it.
type storyRow struct {
	id, prefix string
	branch     *causality.Branch
	root       *causality.Branch
	// gap is set where the journal has a hole here, and no branch then.
	gap *state.Entry
	// hit: the filter shows it.
	hit bool
}

func newStory(of page.Subject) *story {
	return &story{of: of, apart: map[string]bool{}, list: widget.List{Columns: []widget.Column{
		{Title: "SINCE", Right: true, Min: 9, Max: 12},
		{Title: "HOP", Right: true, Min: 8, Max: 14},
		{Title: "WHAT", Grow: true, Min: 30},
	}}}
}

// hops are those that the story is about.
func (s *story) hops() []*causality.Hop {
	switch {
	case s.of.Seq != 0:
		if h := s.links.Hop(s.of.Seq); h != nil {
			return []*causality.Hop{h}
		}
		return nil
	case s.of.Object.Resource != "":
		return s.links.OfObject(s.of.Object)
	}
	return s.links.OfKey(s.of.Controller, s.of.Queue, s.of.Key)
}

func (s *story) tell(links *causality.Links, detail causality.Detail) {
	if links == nil {
		return
	}
	s.links = links
	s.branches = causality.Story(s.hops(), detail, func(id string) bool { return s.apart[id] })
	s.draw()
	if !s.found { // links of an earlier snapshot may not have it
		if at := slices.IndexFunc(s.items, func(r *storyRow) bool { return r.branch != nil && r.branch.Asked }); at >= 0 {
			s.list.Seek(s.items[at].id)
			s.found = true
		}
	}
}

// split shows a group's members one by one, or together again.
func (s *story) split(id string, apart bool, detail causality.Detail) {
	s.apart[id] = apart
	if apart {
		s.list.Selected = "" // the cursor stays on the place of the group
	} else {
		s.list.Seek(id)
	}
	s.tell(s.links, detail)
}

// draw makes the rows: what goes on without a fork stays in its column.
func (s *story) draw() {
	s.all = nil
	for _, b := range s.branches {
		at := len(s.all)
		s.walk(b, b, "", "")
		s.all = slices.Insert(s.all, at+1, s.holes(b)...)
	}
	s.items = s.all
	if !s.filter.MatchesAll() {
		s.items = slices.DeleteFunc(slices.Clone(s.all), func(r *storyRow) bool { return !r.hit })
	}
	s.place = make(map[string]int, len(s.items))
	for i, r := range s.items {
		s.place[r.id] = i
	}
}

// walk adds a branch and what follows, and says whether the filter shows any of
// them.
func (s *story) walk(b, root *causality.Branch, prefix, below string) bool {
	row := &storyRow{id: b.ID, prefix: prefix, branch: b, root: root}
	s.all = append(s.all, row)
	hit := s.filter.MatchesAll() || s.filter.Matches(causality.Describe(b.First()))
	forks := 0
	for _, c := range b.Children {
		if !remarks(c) {
			forks++
		}
	}
	left := forks
	for _, c := range b.Children {
		own, next := below+"├ ", below+"│ "
		if !remarks(c) {
			left--
		}
		switch {
		case remarks(c) && 0 < left && left < forks:
			own, next = below+"│ · ", below+"│ "
		case remarks(c):
			own, next = below+"· ", below
		case forks == 1:
			own, next = below+"→ ", below
		case left == 0:
			own, next = below+"└ ", below+"  "
		}
		if s.walk(c, root, own, next) {
			hit = true
		}
	}
	row.hit = hit
	return hit
}

// remarks reports whether a branch is an Event, which tells of the hop before and
// leads nowhere: it forks nothing.
func remarks(b *causality.Branch) bool {
	return b.First().Link == causality.LinkAbout && len(b.Children) == 0
}

// holes are the gaps of the journal while a story went on, of the types in it.
func (s *story) holes(root *causality.Branch) []*storyRow {
	var out []*storyRow
	from, to := root.First().Start, root.Last()
	for i := range s.links.Gaps {
		g := &s.links.Gaps[i]
		if g.At.Before(from) || g.At.After(to) {
			continue
		}
		if gap, ok := g.Event.(state.Gap); ok && !about(root, gap.Informer) {
			continue
		}
		out = append(out, &storyRow{id: root.ID + "/" + page.EntryID(g.Seq), root: root, gap: g, hit: true})
	}
	return out
}

// about reports whether a story has an object of a type.
func about(b *causality.Branch, typ string) bool {
	for _, h := range b.Hops {
		if o, ok := h.Object(); ok && o.Type() == typ {
			return true
		}
	}
	return slices.ContainsFunc(b.Children, func(c *causality.Branch) bool { return about(c, typ) })
}

// maxPrefix bounds the lines before a row, in cells.
const maxPrefix = 24

func (r *storyRow) lead() string {
	runes := []rune(r.prefix)
	if len(runes) <= maxPrefix {
		return r.prefix
	}
	return "…" + string(runes[len(runes)-maxPrefix+1:])
}

func (s *story) empty() string {
	switch {
	case s.links == nil:
		return "Linking causes and effects…"
	case len(s.branches) == 0:
		return "Not in the journal, or already evicted."
	}
	return page.NoMatch("steps", s.filter)
}

func (s *story) title(detail string) string {
	name := s.of.Object.String()
	switch {
	case s.of.Kind == page.OnKey, s.of.Kind == page.OnEvent && s.of.Key != "" && name == "":
		name = render.ShortName(s.of.Controller) + " " + s.of.Key
	case s.of.Kind == page.OnWrite || s.of.Kind == page.OnEvent:
		name = s.of.Name
	}
	text := "Timeline of " + name
	if s.links == nil {
		return text
	}
	if n := len(s.branches); n != 1 {
		text += fmt.Sprintf(": %d stories", n)
	} else {
		text += fmt.Sprintf(": in all %s", state.Short(total(s.branches[0])))
	}
	return text + ", " + detail
}

// total is the time from the first to the last that is known of a story.
func total(root *causality.Branch) time.Duration { return max(root.Last().Sub(root.First().Start), 0) }

func (s *story) current(e *page.Env) *storyRow {
	at := s.list.At(s.rows(e))
	if at < 0 {
		return nil
	}
	return s.items[at]
}

func (s *story) rows(e *page.Env) storyRows { return storyRows{s, e} }

type storyRows struct {
	*story
	e *page.Env
}

func (r storyRows) Len() int        { return len(r.items) }
func (r storyRows) ID(i int) string { return r.items[i].id }

func (r storyRows) Find(id string) int {
	if at, ok := r.place[id]; ok {
		return at
	}
	return -1
}

func (r storyRows) Cells(i int) []widget.Cell {
	row := r.items[i]
	if row.gap != nil {
		d := state.DescribeParts(row.gap.Event)
		return []widget.Cell{widget.Word(r.e.Clock(row.gap.At)[:8], widget.Dim), widget.Word("── "+d.Subject+" "+across, widget.Warn), widget.Word(d.Text+" "+across, widget.Warn)}
	}
	b, first := row.branch, row.branch.First()
	at, hop := widget.Word("+"+since(first.Start.Sub(row.root.First().Start)), widget.Dim), widget.Word(detail.HopTime(b), widget.Accent)
	what := append(widget.Cell{widget.Dim.Of(row.lead())}, detail.HopSpans(b, row.root)...)
	if b.Parent == nil {
		// The day's time of a beginning, and how long it went on.
		at, hop = widget.Word(r.e.Clock(first.Start)[:8], widget.Dim), widget.Word("in all "+state.Short(total(b)), widget.Dim)
		what = append(what, widget.Warn.Of(" ← "+page.FirstOf(string(first.Origin), "an earlier hop")))
	}
	if r.of.Kind != page.OnEvent && r.of.Kind != page.OnWrite || !b.Asked {
		return []widget.Cell{at, hop, what}
	}
	return []widget.Cell{at, hop, append(what, widget.Accent.Of("  (this)"))}
}

func since(d time.Duration) string { return fmt.Sprintf("%.3fs", max(d, 0).Seconds()) }
