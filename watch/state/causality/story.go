package causality

import (
	"fmt"
	"slices"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Detail says which Hops a Story shows.
type Detail int

const (
	// DetailWrites: writes, and the events that no write of the journal made.
	DetailWrites Detail = iota
	// DetailSyncs: the syncs too.
	DetailSyncs
	// DetailAll: additions to queues and events too.
	DetailAll
)

// Branch is one line of a Story: a Hop, or several alike that follow from the
// same.
type Branch struct {
	// ID stays the same while the story grows.
	ID string
	// Hops has one, or all that were put together, in their order.
	Hops []*Hop
	// Asked: one of them is what the story is about.
	Asked bool
	// Together is the ID under which it would be put together with others like
	// it; empty where there are none.
	Together string
	// Least and Most are the times since what stands before it began.
	Least, Most time.Duration
	// Parent is the Branch before it; nil at a root. Hidden Hops between the two
	// are left out.
	Parent *Branch
	// Sure: all links from there were observed.
	Sure     bool
	Children []*Branch
}

// First is the earliest of its Hops.
func (b *Branch) First() *Hop { return b.Hops[0] }

// Last is the time at which the last Hop below it was over. Events do not count:
// they are written after what they tell of, and again while it lasts.
func (b *Branch) Last() time.Time {
	var last time.Time
	for _, h := range b.Hops {
		last = later(last, later(h.Start, h.End))
	}
	for _, c := range b.Children {
		if c.First().Link != LinkAbout {
			last = later(last, c.Last())
		}
	}
	return last
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Story gives the trees in which Hops stand: what led to them, and all that
// followed. One Hop alone is shown whatever the detail. Siblings that are alike are put together, but for those whose
// Together is apart.
func Story(of []*Hop, detail Detail, apart func(together string) bool) []*Branch {
	s := &storyteller{detail: detail, apart: apart, in: map[*Hop]bool{}, asked: map[*Hop]bool{}}
	var roots []*Hop
	for _, h := range of {
		s.asked[h] = true
		s.below(h)
		for up := h; !s.up(up); up = up.Parent {
			if up.Parent == nil {
				roots = append(roots, up)
				break
			}
		}
	}
	slices.SortFunc(roots, (*Hop).order)
	var all []follower
	for _, r := range roots {
		all = append(all, s.shown(r, nil, true)...)
	}
	// Roots stand apart, each the beginning of a story of its own.
	var out []*Branch
	for _, f := range all {
		out = append(out, s.branch([]follower{f}, ""))
	}
	return out
}

type storyteller struct {
	detail  Detail
	apart   func(string) bool
	in      map[*Hop]bool
	asked   map[*Hop]bool
	climbed map[*Hop]bool
}

// up notes a Hop on the way to a root; true where that way is known.
func (s *storyteller) up(h *Hop) bool {
	if s.climbed == nil {
		s.climbed = map[*Hop]bool{}
	}
	known := s.climbed[h]
	s.climbed[h], s.in[h] = true, true
	return known
}

func (s *storyteller) below(h *Hop) {
	todo := []*Hop{h}
	for len(todo) > 0 {
		h, todo = todo[len(todo)-1], todo[:len(todo)-1]
		for _, c := range h.Children {
			if !s.in[c] || s.climbed[c] {
				s.in[c] = true
				todo = append(todo, c)
			}
		}
	}
}

// follower is a Hop that is shown, and the shown one from which it follows.
type follower struct {
	hop, from *Hop
	sure      bool
}

func (s *storyteller) shows(h *Hop) bool {
	switch {
	case s.detail >= DetailAll || h.Kind == HopWrite || len(s.asked) == 1 && s.asked[h]:
		return true
	case h.Kind == HopSync:
		return s.detail >= DetailSyncs || h.Parent == nil
	}
	return h.Kind == HopEvent && (h.Parent == nil || !h.Link.Sure())
}

// shown gives the Hop, or those below it that are the next to be shown.
func (s *storyteller) shown(h, from *Hop, sure bool) []follower {
	if !s.in[h] {
		return nil
	}
	sure = sure && (h.Parent == nil || h.Link.Sure())
	if s.shows(h) {
		return []follower{{h, from, sure}}
	}
	var out []follower
	for _, c := range h.Children {
		out = append(out, s.shown(c, from, sure)...)
	}
	return out
}

func (s *storyteller) branch(all []follower, together string) *Branch {
	first := all[0]
	b := &Branch{ID: first.hop.id(), Together: together, Sure: true}
	if len(all) > 1 {
		b.ID = together
	}
	var next []follower
	for i, f := range all {
		b.Hops = append(b.Hops, f.hop)
		b.Asked = b.Asked || s.asked[f.hop]
		b.Sure = b.Sure && f.sure
		if f.from != nil {
			d := f.hop.since(f.from)
			if i == 0 {
				b.Least = d
			}
			b.Least, b.Most = min(b.Least, d), max(b.Most, d)
		}
		for _, c := range f.hop.Children {
			next = append(next, s.shown(c, f.hop, true)...)
		}
	}
	slices.SortStableFunc(next, func(a, b follower) int { return a.hop.order(b.hop) })
	for _, group := range alike(next) {
		name := ""
		if len(group) > 1 {
			name = "all:" + group[0].hop.id()
		}
		if name != "" && !s.apart(name) {
			b.adopt(s.branch(group, name))
			continue
		}
		for _, f := range group {
			b.adopt(s.branch([]follower{f}, name))
		}
	}
	return b
}

func (b *Branch) adopt(c *Branch) {
	c.Parent = b
	b.Children = append(b.Children, c)
}

// alike puts followers of one shape together, in the order of the first of each.
func alike(all []follower) [][]follower {
	place := map[string]int{}
	var out [][]follower
	for _, f := range all {
		shape := fmt.Sprint(f.hop.shape(), f.sure)
		i, ok := place[shape]
		if !ok {
			i = len(out)
			place[shape], out = i, append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// id tells a Hop apart while the story goes on.
func (h *Hop) id() string {
	switch e := h.Event.(type) {
	case state.ObjectChanged:
		return "event:" + eventID(e.Object, e.Change, e.OldRV, e.NewRV)
	case state.KeyTaken:
		return fmt.Sprintf("sync:%d", e.Sync)
	}
	return fmt.Sprintf("%s:%d", h.Kind, h.Seq)
}
