package tui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// fakeLoops remembers what it is asked.
type fakeLoops struct {
	calls  []string
	paused map[string]bool
	points []state.BreakpointChanged
	holds  []state.BreakpointHit
	err    error
}

func (f *fakeLoops) facts() (out []state.Event) {
	for _, c := range slices.Sorted(maps.Keys(f.paused)) {
		out = append(out, state.PauseChanged{Controller: c, Paused: true})
	}
	for _, h := range f.holds {
		out = append(out, h)
	}
	for _, p := range f.points {
		out = append(out, p)
	}
	return out
}

func (f *fakeLoops) did(format string, args ...any) error {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.err
}

func (f *fakeLoops) Start(_ context.Context, c string) error { return f.did("start %s", c) }
func (f *fakeLoops) Pause(c string) error                    { f.paused[c] = true; return f.did("pause %s", c) }
func (f *fakeLoops) Resume(c string) error                   { delete(f.paused, c); return f.did("resume %s", c) }
func (f *fakeLoops) Step(c, q, k string) error               { return f.did("step %s %s %s", c, q, k) }
func (f *fakeLoops) RetryNow(c, q, k string) error           { return f.did("retry %s %s %s", c, q, k) }
func (f *fakeLoops) Drop(c, q, k string) error               { return f.did("drop %s %s %s", c, q, k) }
func (f *fakeLoops) Unbreak(n int) error                     { return f.did("unbreak %d", n) }

func (f *fakeLoops) Break(b port.Breakpoint) error {
	f.points = append(f.points, state.BreakpointChanged{Number: len(f.points) + 1, Controller: b.Controller, Key: b.Key, BeforeWrite: b.BeforeWrite})
	return f.did("break %s %q %v", b.Controller, b.Key, b.BeforeWrite)
}

func (f *fakeLoops) last(t *testing.T, want string) {
	t.Helper()
	if n := len(f.calls); n == 0 || f.calls[n-1] != want {
		t.Errorf("the loops were asked %q, want at last %q", f.calls, want)
	}
}

func queuesScreen(t *testing.T, snap *state.Snapshot, loops port.Loops, w, h int) *screen {
	o := shopOptions(snap)
	o.Start, o.Loops = int(page.Queues), loops
	return newScreen(t, o, snap, w, h)
}

func TestQueuesPage(t *testing.T) {
	snap := tuitest.BusyShop(t)
	s := queuesScreen(t, snap, &fakeLoops{}, 80, 24)
	s.golden("queues-80x24")
	s.press("enter").golden("queues-story-80x24")
	queuesScreen(t, snap, &fakeLoops{}, 200, 60).golden("queues-200x60")
	end := queuesScreen(t, shop(t, 0), nil, 80, 24)
	end.press("f").golden("queues-failures-80x24")
}

func TestQueuesFilters(t *testing.T) {
	s := queuesScreen(t, shop(t, 0), nil, 80, 24)
	s.press("f").has("failures only", "failed")
	for _, row := range s.page().Plain(s.env) {
		if !strings.Contains(row.Text, "last failed") && !strings.Contains(row.Text, "retry ") {
			t.Errorf("it does not fail: %s", row.Text)
		}
	}
	s.press("m").has("Queues of " + render.ShortName(s.page().Under(s.env).Controller))
	s.press("esc").has(" Queues: ").hasNot("failures only")
	s.press("a").hasNot(" done  ")
	s.press("a", "/", "type:!import", "enter").hasNot("shop/import")
	for _, by := range []string{"by key", "by age", "by retries", "by controller", "by state"} {
		s.press("o").has(by)
	}
	s.press("ctrl+r").has("by state reversed")
}

func TestQueuesControls(t *testing.T) {
	loops := &fakeLoops{paused: map[string]bool{}}
	snap := tuitest.BusyShop(t)
	s := queuesScreen(t, snap, loops, 80, 24)
	var k *state.Key
	for _, key := range snap.Keys.All() {
		if key.Phase == state.PhaseReady || k == nil && key.Phase == state.PhaseWaiting {
			k = key
		}
	}
	for i := 0; s.page().Under(s.env).Key != k.Key || s.page().Under(s.env).Queue != k.Queue; i++ {
		if i > snap.Keys.Len() {
			t.Fatalf("%s is not shown", k.Key)
		}
		s.press("j")
	}
	whole := k.Controller + " " + k.Queue + " " + k.Key

	s.press("s").has("not now", "is not paused")
	s.press("P")
	loops.last(t, "pause "+k.Controller)
	s.press("s")
	loops.last(t, "step "+whole)
	loops.err = errors.New("the queue does not hold it")
	s.press("s").has("the queue does not hold it")
	loops.err = nil
	s.press("x").has("Drop " + k.Key).press("n").has("Nothing was done.")
	s.press("x", "y")
	loops.last(t, "drop "+whole)

	s.press("b").has("break on key of").press("enter")
	loops.last(t, fmt.Sprintf("break %s %q false", k.Controller, k.Key))
	s.press("B", "ctrl+u", "type:shop/[", "enter").has("invalid pattern")
	s.press("B", "ctrl+u", "type:shop/*", "enter")
	loops.last(t, fmt.Sprintf("break %s %q true", k.Controller, "shop/*"))
	s.has("Breakpoints: 2.")

	loops.holds = []state.BreakpointHit{{Hold: 1, Breakpoint: 2, Controller: k.Controller, Queue: k.Queue, Key: k.Key, Write: "create pods shop/web-1", Since: snap.At}}
	s.has("BREAK: 1 held", "HELD write", "HELD before: create pods shop/web-1")
	s.press("i").has("A breakpoint paused this key").press("esc")
	s.press("u").has("Breakpoints", "HELD for 1s: create pods shop/web-1", "remove breakpoint number")
	s.press("type:2", "enter", "esc")
	loops.last(t, "unbreak 2")
	s.press("P")
	loops.last(t, "resume "+k.Controller)
}

func TestQueuesRetryNow(t *testing.T) {
	loops := &fakeLoops{paused: map[string]bool{}}
	snap := state.Fold(shop(t, 0), state.Entry{Seq: 1 << 30, At: shop(t, 0).At, Event: state.KeyAdded{
		Controller: "job-controller", Queue: "job", Key: "shop/late", How: "AddRateLimited", Delay: time.Minute, Retries: 7,
		Cause: state.Cause{Kind: state.CauseTimer, Controller: "job-controller"},
	}})
	s := queuesScreen(t, snap, loops, 80, 24)
	s.press("/", "type:shop/late", "enter").has("waiting", "58s", "a timer of job-controller")
	s.press("r")
	loops.last(t, "retry job-controller job shop/late")
}

// Without loops, in a recording, the keys on them say why not.
func TestQueuesWithoutLoops(t *testing.T) {
	o := shopOptions(shop(t, 0))
	o.Start, o.Missing = int(page.Queues), "this is a recording"
	s := newScreen(t, o, shop(t, 0), 80, 24)
	for _, key := range []string{"P", "s", "r", "x", "b", "B", "u"} {
		s.press(key).has("this is a recording")
	}
}

func TestQueuesFocus(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	k := state.Key{}
	for _, done := range snap.Done.All() {
		if done.Controller == "replicaset-controller" && done.Syncs > 1 {
			k = *done
		}
	}
	s.send(page.JumpMsg{Page: page.Queues, To: page.Subject{Kind: page.OnController, Controller: k.Controller}})
	s.has("Queues of replicaset:").hasNot("statefulset")
	s.send(page.JumpMsg{Page: page.Queues, To: page.Subject{Kind: page.OnKey, Controller: k.Controller, Queue: k.Queue, Key: k.Key}})
	if got := s.page().Under(s.env); got.Key != k.Key || got.Object.Type() != "replicasets.apps" {
		t.Errorf("the cursor is on %+v", got)
	}
	s.send(page.JumpMsg{Page: page.Queues, To: page.Subject{Kind: page.OnObject, Object: state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "import"}}})
	s.has("shop/import", "/shop/import")
	s.send(page.JumpMsg{Page: page.Queues, To: page.Subject{Kind: page.OnLease}})
	s.has("cannot show this lease")
}

// The selection stays on its key while others come and go.
func TestQueuesSelection(t *testing.T) {
	s := queuesScreen(t, shop(t, 0), nil, 80, 24)
	s.press("j", "j", "j")
	before := s.page().Under(s.env).Key
	next := shop(t, 0)
	for i := range 20 {
		next = state.Fold(next, state.Entry{Seq: next.Seq + 1, At: next.At, Event: state.KeyAdded{Controller: "a", Queue: "a", Key: fmt.Sprint(i), How: "Add"}})
	}
	s.show(next)
	if after := s.page().Under(s.env).Key; after != before {
		t.Errorf("the cursor went from %s to %s", before, after)
	}
}

const hostileKey = "\x1b]0;owned\x07\u009b31m\u202eevil\u200b世界\t\n"

func TestQueuesHostile(t *testing.T) {
	snap := state.NewSnapshot(state.Limits{})
	for i, name := range []string{hostileKey, strings.Repeat("x", 1000), strings.Repeat("世", 500), ""} {
		at := testNow.Add(-time.Minute)
		snap = state.Fold(snap,
			state.Entry{Seq: snap.Seq + 1, At: at, Event: state.KeyAdded{Controller: name, Queue: name, Key: name, How: "Add", Cause: state.Cause{Kind: state.CauseEvent, Object: &state.Ref{Resource: name, Name: name}}}},
			state.Entry{Seq: snap.Seq + 2, At: at, Event: state.KeyTaken{Controller: name, Queue: name, Key: name, Sync: uint64(i + 1)}},
			state.Entry{Seq: snap.Seq + 3, At: at, Event: state.KeyFinished{Controller: name, Queue: name, Key: name, Sync: uint64(i + 1), Failed: true, Error: name}})
	}
	loops := &fakeLoops{
		points: []state.BreakpointChanged{{Number: 1, Controller: hostileKey, Key: hostileKey}},
		holds:  []state.BreakpointHit{{Hold: 1, Breakpoint: 1, Controller: hostileKey, Queue: hostileKey, Key: hostileKey, Write: hostileKey, Since: testNow}},
	}
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		o := Options{Parts: page.Parts{Loops: loops}, Start: int(page.Queues)}
		s := newScreen(t, o, snap, size[0], size[1])
		for range 4 {
			s.press("enter").hasNot("\x1b", "\u202e", "\u009b").press("esc", "u").hasNot("\u202e").press("esc", "esc", "j")
			s.text()
		}
	}
}
