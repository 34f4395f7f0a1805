package tui

import (
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// forbid puts parts in the place of a session's of which each method panics, and
// returns what puts the session's back.
func (s *screen) forbid() (restore func()) {
	options, parts := *s.options, *s.env.Parts
	o, p := s.options, s.env.Parts
	if o.Connection != nil {
		o.Connection = struct{ port.Connection }{}
	}
	if o.Recorder != nil {
		o.Recorder = struct{ port.Recorder }{}
	}
	o.Journal = struct{ port.Journal }{}
	o.Requests, o.Now = nil, nil
	p.Loops, p.Approvals, p.Caches, p.Owners = struct{ port.Loops }{}, struct{ port.Approvals }{}, struct{ port.Caches }{}, struct{ port.Owners }{}
	p.Revisions, p.Leases, p.Active = struct{ port.Revisions }{}, struct{ port.Leases }{}, struct{ port.Active }{}
	if p.Player != nil {
		p.Player = struct{ port.Player }{}
	}
	if p.Command != nil {
		p.Command = struct{ port.Command }{}
	}
	return func() {
		*s.options, *s.env.Parts = options, parts
	}
}

// draws draws twice without a word to a part of the session, and wants the same.
func (s *screen) draws(t *testing.T, when string) {
	t.Helper()
	s.report()
	snap, latest, now := s.env.Snap, s.env.Latest, s.env.Now
	restore := s.forbid()
	defer restore()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: drawing asks a part of the session: %v", when, p)
		}
	}()
	if first, second := s.View(), s.View(); first != second {
		t.Errorf("%s: the first picture is\n%s\nthe second, of the same,\n%s", when, first, second)
	}
	if s.env.Snap != snap || s.env.Latest != latest || s.env.Now != now {
		t.Errorf("%s: drawing has changed what pages read", when)
	}
}

// View is a function of the snapshot, the model, the time and the size: it asks no
// part of the session, which would take the engine's locks, and changes nothing.
func TestDrawingIsPure(t *testing.T) {
	snap := tuitest.BusyShop(t)
	_, k, _ := snap.Keys.At(0)
	loops := &fakeLoops{
		paused: map[string]bool{k.Controller: true},
		points: []state.BreakpointChanged{{Number: 1, Controller: k.Controller}},
		holds:  []state.BreakpointHit{{Hold: 1, Breakpoint: 1, Controller: k.Controller, Queue: k.Queue, Key: k.Key, Write: "create pods shop/web-1", Since: testNow}},
	}
	active := staging()
	active.Phase = state.ActiveLeading
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		for id := page.Controllers; id <= page.Timeline; id++ {
			for _, replay := range []bool{false, true} {
				o := on(shopOptions(snap), id)
				o.Loops, o.Approvals, o.Active = loops, newGate(), active
				o.Connection = brokenServer{failing: []string{"pods (410 Gone)"}}
				if replay {
					o.Player = &stillPlayer{playing: true}
				}
				s := newScreen(t, o, snap, size[0], size[1])
				name := s.name(id)
				s.draws(t, name)
				for _, key := range []string{"j", "G", "enter", "j", "esc", "?", "esc", "/", "type:web", "enter", "esc", "A", "j", "enter", "esc", "esc", ":", "esc", "u", "esc", "i", "esc"} {
					s.press(key)
					s.draws(t, name+", after "+key)
				}
				s.show(state.Fold(s.base, state.Entry{Seq: s.base.Seq + 1, At: testNow.Add(time.Second), Event: state.KeyAdded{Controller: "a", Queue: "q", Key: "shop/new", How: "Add"}}))
				s.draws(t, name+", after an entry")
			}
		}
	}
}
