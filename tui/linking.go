package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// linking is the snapshot's cause and effect, made in a command. The last one
// stays until the next is there.
type linking struct {
	stale
	page  pageID
	links *state.Links
	of    *state.Snapshot
	busy  bool
	pacing
}

// linkEvery is the least time between two looks at a journal that goes on.
const linkEvery = 500 * time.Millisecond

// linked is the result of the command, with the snapshot that it is of.
type linked struct {
	links *state.Links
	of    *state.Snapshot
}

// want starts the command where the snapshot is another one.
func (l *linking) want(e *env, msg tea.Msg) tea.Cmd {
	if l.busy || l.of == e.snap || l.of != nil && !l.due(e, msg, linkEvery) {
		return nil
	}
	l.busy, l.at = true, e.now
	snap := e.snap
	return ask(l.page, l.next(), func() (linked, error) { return linked{state.Link(snap), snap}, nil })
}

// took takes the result over; false where the message is another.
func (l *linking) linked(msg tea.Msg) bool {
	a, ok := msg.(answer[linked])
	if !ok || !l.is(a.round) {
		return false
	}
	l.busy, l.links, l.of, l.took = false, a.value.links, a.value.of, a.took
	return true
}

// hop gives the Hop of an entry; nil while it is not known.
func (l *linking) hop(seq uint64) *state.Hop {
	if l.links == nil {
		return nil
	}
	return l.links.Hop(seq)
}
