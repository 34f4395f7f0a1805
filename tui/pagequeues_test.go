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

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
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

func (f *fakeLoops) Break(b Breakpoint) error {
	f.points = append(f.points, state.BreakpointChanged{Number: len(f.points) + 1, Controller: b.Controller, Key: b.Key, BeforeWrite: b.BeforeWrite})
	return f.did("break %s %q %v", b.Controller, b.Key, b.BeforeWrite)
}

func (f *fakeLoops) last(t *testing.T, want string) {
	t.Helper()
	if n := len(f.calls); n == 0 || f.calls[n-1] != want {
		t.Errorf("the loops were asked %q, want at last %q", f.calls, want)
	}
}

// busyShop is the recorded session at an entry where many keys are under way, the
// first with the most in queues.
func busyShop(t testing.TB) *state.Snapshot {
	t.Helper()
	all, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	snap, best, at := state.NewSnapshot(state.Limits{}), -1, 0
	for i, e := range all {
		snap = state.Fold(snap, e)
		phases := map[state.Phase]bool{}
		for _, k := range snap.Keys.All() {
			phases[k.Phase] = true
		}
		if n := 100*len(phases) + snap.Keys.Len(); n > best {
			best, at = n, i+1
		}
	}
	return shop(t, at)
}

func queuesScreen(t *testing.T, snap *state.Snapshot, loops Loops, w, h int) *screen {
	o := shopOptions(snap)
	o.Start, o.Loops = int(pageQueues), loops
	return newScreen(t, o, snap, w, h)
}

func TestQueuesPage(t *testing.T) {
	snap := busyShop(t)
	s := queuesScreen(t, snap, &fakeLoops{}, 80, 24)
	s.golden("queues-80x24")
	s.press("enter").golden("queues-story-80x24")
	queuesScreen(t, snap, &fakeLoops{}, 200, 60).golden("queues-200x60")
	end := queuesScreen(t, shop(t, 0), nil, 80, 24)
	end.press("f").golden("queues-failures-80x24")
}

func TestQueuesOrder(t *testing.T) {
	q := keyQuery{sort: byState}
	o := orderKeys(busyShop(t), q, widget.Filter{})
	if len(o.counts) < 3 {
		t.Fatalf("the recording has keys in %v only", o.counts)
	}
	for i := 1; i < len(o.keys); i++ {
		a, b := o.keys[i-1], o.keys[i]
		if phaseOrder(a.Phase) > phaseOrder(b.Phase) {
			t.Errorf("%s %s stands before %s %s", a.Phase, a.Key, b.Phase, b.Key)
		}
		if a.Phase == state.PhaseWaiting && b.Phase == state.PhaseWaiting && a.Due.After(b.Due) {
			t.Errorf("%s is due after %s", a.Key, b.Key)
		}
	}
	for i, id := range o.ids {
		if at := o.find(id); at != i {
			t.Errorf("%q is looked for at %d, stands at %d", id, at, i)
		}
	}
	q.reverse = true
	reversed := orderKeys(o.snap, q, widget.Filter{})
	slices.Reverse(reversed.ids)
	if !slices.Equal(reversed.ids, o.ids) {
		t.Error("reversed is another order")
	}
}

func TestQueuesFilters(t *testing.T) {
	s := queuesScreen(t, shop(t, 0), nil, 80, 24)
	s.press("f").has("failures only", "failed")
	p := s.page().(*queuesPage)
	for _, k := range p.order.keys {
		if !failing(k) {
			t.Errorf("%s does not fail", k.Key)
		}
	}
	s.press("m").has("Queues of " + strings.Fields(p.cells(s.env, p.order.keys[0])[1].Text())[0])
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
	snap := busyShop(t)
	s := queuesScreen(t, snap, loops, 80, 24)
	p := s.page().(*queuesPage)
	at := slices.IndexFunc(p.order.keys, func(k *state.Key) bool { return k.Phase == state.PhaseReady })
	if at < 0 {
		at = slices.IndexFunc(p.order.keys, func(k *state.Key) bool { return k.Phase == state.PhaseWaiting })
	}
	k := p.order.keys[at]
	p.list.Seek(p.order.ids[at])
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
	s.press("B", "ctrl+u", "type:shop/[", "enter").has("is no pattern")
	s.press("B", "ctrl+u", "type:shop/*", "enter")
	loops.last(t, fmt.Sprintf("break %s %q true", k.Controller, "shop/*"))
	s.has("Breakpoints: 2.")

	loops.holds = []state.BreakpointHit{{Hold: 1, Breakpoint: 2, Controller: k.Controller, Queue: k.Queue, Key: k.Key, Write: "create pods shop/web-1", Since: snap.At}}
	s.has("BREAK: 1 held", "HELD write", "HELD before: create pods shop/web-1")
	s.press("i").has("A breakpoint stopped this key").press("esc")
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
	o.Start, o.Missing = int(pageQueues), "this is a recording"
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
	s.send(jumpMsg{pageQueues, subject{kind: onController, controller: k.Controller}})
	s.has("Queues of replicaset:").hasNot("statefulset")
	s.send(jumpMsg{pageQueues, subject{kind: onKey, controller: k.Controller, queue: k.Queue, key: k.Key}})
	if got := s.page().under(s.env); got.key != k.Key || got.object.Type() != "replicasets.apps" {
		t.Errorf("the cursor is on %+v", got)
	}
	s.send(jumpMsg{pageQueues, subject{kind: onObject, object: state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "import"}}})
	s.has("shop/import", "filter: shop/import")
	s.send(jumpMsg{pageQueues, subject{kind: onLease}})
	s.has("cannot show this lease")
}

// The selection stays on its key while others come and go.
func TestQueuesSelection(t *testing.T) {
	s := queuesScreen(t, shop(t, 0), nil, 80, 24)
	s.press("j", "j", "j")
	before := s.page().under(s.env).key
	next := shop(t, 0)
	for i := range 20 {
		next = state.Fold(next, state.Entry{Seq: next.Seq + 1, At: next.At, Event: state.KeyAdded{Controller: "a", Queue: "a", Key: fmt.Sprint(i), How: "Add"}})
	}
	s.show(next)
	if after := s.page().under(s.env).key; after != before {
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
		o := Options{Parts: Parts{Loops: loops}, Start: int(pageQueues)}
		s := newScreen(t, o, snap, size[0], size[1])
		for range 4 {
			s.press("enter").hasNot("\x1b", "\u202e", "\u009b").press("esc", "u").hasNot("\u202e").press("esc", "esc", "j")
			s.text()
		}
	}
}

// manyKeysSnapshot has live keys beyond what is sorted at once.
func manyKeysSnapshot(n int) *state.Snapshot {
	entries := make([]state.Entry, 0, n)
	for i := range n {
		e := state.KeyAdded{Controller: fmt.Sprintf("c%d", i%40), Queue: "q", Key: fmt.Sprintf("shop/key-%06d", i), How: "Add"}
		if i%3 == 0 {
			e.How, e.Delay, e.Retries = "AddRateLimited", time.Duration(i%1000+1)*time.Second, i%9
		}
		entries = append(entries, state.Entry{Seq: uint64(i + 1), At: testNow, Event: e})
	}
	return state.Fold(nil, entries...)
}

func TestQueuesMany(t *testing.T) {
	snap := manyKeysSnapshot(3 * manyKeys)
	o := Options{Start: int(pageQueues)}
	s := newScreen(t, o, snap, 80, 24)
	s.has("ready").hasNot("being sorted")
	p := s.page().(*queuesPage)
	if len(p.order.ids) != 3*manyKeys {
		t.Fatalf("%d keys are shown", len(p.order.ids))
	}
	// A key far down is found although it takes a command to sort.
	s.press("1")
	s.send(jumpMsg{pageQueues, subject{kind: onKey, controller: "c7", queue: "q", key: "shop/key-008007"}})
	if got := s.page().under(s.env).key; got != "shop/key-008007" {
		t.Errorf("the cursor is on %q", got)
	}
	// Old rows show their keys as they are now, before the new order comes.
	id := p.list.Selected
	next := state.Fold(snap, state.Entry{Seq: snap.Seq + 1, At: testNow, Event: state.KeyTaken{Controller: "c7", Queue: "q", Key: "shop/key-008007", Sync: 1}})
	s.env.snap = next
	if k := p.current(s.env); p.list.Selected != id || k.Phase != state.PhaseProcessing {
		t.Errorf("the row shows %s", k.Phase)
	}
	// One question at a time; its answer counts only while it is the latest.
	p.pacing = pacing{}
	first := p.refresh(s.env, nil)
	if first == nil || p.refresh(s.env, nil) != nil {
		t.Fatal("want one question at a time")
	}
	old := p.order
	p.stale.next()
	s.send(first())
	if p.order != old {
		t.Error("an outdated answer was taken")
	}
}

// BenchmarkQueues draws and moves in 100,000 keys: what a frame costs, and apart
// from it what sorting them in a command costs.
func BenchmarkQueues(b *testing.B) {
	snap := manyKeysSnapshot(100_000)
	b.Run("view", func(b *testing.B) {
		theme, err := widget.NewTheme("mono", 3)
		if err != nil {
			b.Fatal(err)
		}
		m := newModel(b.Context(), Options{Parts: Parts{Theme: theme}, Start: int(pageQueues), Now: func() time.Time { return testNow }})
		m.width, m.height = 200, 60
		m.env.snap, m.env.latest = snap, snap
		p := m.page().(*queuesPage)
		p.take(orderKeys(snap, p.wantedQuery(), widget.Filter{}), m.env, 0)
		b.ResetTimer()
		for i := range b.N {
			p.key([]string{"j", "G", "g", "pgdown"}[i%4], m.env)
			m.View()
		}
	})
	b.Run("sort", func(b *testing.B) {
		for range b.N {
			orderKeys(snap, keyQuery{sort: byState}, widget.Filter{})
		}
	})
}
