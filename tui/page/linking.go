package page

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
)

// Linking is the snapshot's cause and effect, made in a command. The last one
// stays until the next is there.
type Linking struct {
	Stale
	Page  ID
	Links *causality.Links
	Of    *state.Snapshot
	busy  bool
	Pacing
}

// linkEvery is the least time between two looks at a journal that goes on.
const linkEvery = 500 * time.Millisecond

// linked is the result of the command, with the snapshot that it is of.
type linked struct {
	links *causality.Links
	of    *state.Snapshot
}

// Want starts the command where the snapshot is another one.
func (l *Linking) Want(e *Env, msg tea.Msg) tea.Cmd {
	if l.busy || l.Of == e.Snap || l.Of != nil && !l.Due(e, msg, linkEvery) {
		return nil
	}
	l.busy, l.At = true, e.Now
	snap := e.Snap
	return Ask(l.Page, l.Next(), func() (linked, error) { return linked{causality.Link(snap), snap}, nil })
}

// took takes the result over; false where the message is another.
func (l *Linking) Linked(msg tea.Msg) bool {
	a, ok := msg.(Answer[linked])
	if !ok || !l.Is(a.Round) {
		return false
	}
	l.busy, l.Links, l.Of, l.Took = false, a.Value.links, a.Value.of, a.Took
	return true
}

// Hop gives the Hop of an entry; nil while it is not known.
func (l *Linking) Hop(seq uint64) *causality.Hop {
	if l.Links == nil {
		return nil
	}
	return l.Links.Hop(seq)
}
