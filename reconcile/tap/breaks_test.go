package tap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func set(t *testing.T, tp *Tap, b Breakpoint) int {
	t.Helper()
	number, err := tp.Break(b)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// heldKeys are the keys that breakpoints hold, in their order.
func heldKeys(tp *Tap) string {
	var out []string
	for _, b := range tp.Breakpoints() {
		for _, h := range b.Held {
			out = append(out, strings.TrimSpace(h.Key+" "+h.Write))
		}
	}
	return strings.Join(out, ", ")
}

// add adds keys of which one is held, and waits until it is.
func add(c *target, keys ...string) {
	for _, k := range keys {
		c.queue.Add(k)
	}
	synctest.Wait()
}

func TestBreakOnKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t, Strings("queue", "queue"), Strings("slow", "inner.slow.queue"))
		number := set(t, tp, Breakpoint{Controller: "ctl", Key: "shop/*"})
		tp.Pause("ctl") // so that all stand there when the worker asks
		keys := worker(c)
		add(c, "other/a", "shop/b", "other/c", "shop/d")
		tp.Resume("ctl")
		equal(t, "what does not match", <-keys, "other/a")
		nothing(t, keys)
		equal(t, "held", heldKeys(tp), "shop/b")
		equal(t, "ready", tp.Activity().Ready, 3)
		if !tp.Paused("ctl") {
			t.Error("the controller is not paused")
		}
		c.inner.slow.queue.Add("x")
		if _, ok := tp.queues["ctl"][1].(*queue[string]).take(); ok {
			t.Error("the controller's other queue is not paused")
		}
		told := last[state.BreakpointHit](t, j)
		told.Since = time.Time{}
		equal(t, "hit", told, state.BreakpointHit{Hold: 1, Breakpoint: 1, Controller: "ctl", Queue: "queue", Key: "shop/b"})
		equal(t, "paused by", last[state.PauseChanged](t, j).Breakpoint, 1)

		// Resume lets the held key go, and the next one is held.
		tp.Resume("ctl")
		equal(t, "order", <-keys+" "+<-keys, "shop/b other/c")
		nothing(t, keys)
		equal(t, "held next", heldKeys(tp), "shop/d")

		// So does Step, of this key alone.
		if err := tp.Step("ctl", "queue", "shop/d"); err != nil {
			t.Fatal(err)
		}
		equal(t, "stepped", <-keys, "shop/d")
		add(c, "other/e")
		nothing(t, keys)
		equal(t, "held after a step", heldKeys(tp), "")

		// Once more: a key that was let go is held when it comes again.
		tp.Resume("ctl")
		equal(t, "after the step", <-keys, "other/e")
		add(c, "shop/b", "other/f")
		equal(t, "held again", heldKeys(tp), "shop/b")

		// A dropped key is not held any more; a removed breakpoint holds nothing new.
		if err := tp.Drop("ctl", "queue", "shop/b"); err != nil {
			t.Fatal(err)
		}
		equal(t, "held after a drop", heldKeys(tp), "")
		nothing(t, keys)
		if err := tp.Unbreak(number); err != nil {
			t.Fatal(err)
		}
		if err := tp.Unbreak(number); err == nil {
			t.Error("a breakpoint is removed twice")
		}
		tp.Resume("ctl")
		add(c, "shop/b")
		equal(t, "without a breakpoint", <-keys+" "+<-keys, "other/f shop/b")
		c.shutDown()
		<-keys
	})
}

// A breakpoint that is removed while it holds a key is listed until it lets go.
func TestUnbreakKeepsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		keys := worker(c)
		number := set(t, tp, Breakpoint{Controller: "ctl"})
		add(c, "a")
		if err := tp.Unbreak(number); err != nil {
			t.Fatal(err)
		}
		nothing(t, keys)
		all := tp.Breakpoints()
		if len(all) != 1 || !all[0].Removed || len(all[0].Held) != 1 {
			t.Errorf("breakpoints %+v", all)
		}
		tp.Resume("ctl")
		equal(t, "let go", <-keys, "a")
		equal(t, "breakpoints left", len(tp.Breakpoints()), 0)
		c.shutDown()
		<-keys
	})
}

func TestShutDownAtABreakpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		keys := worker(c)
		set(t, tp, Breakpoint{Controller: "ctl"})
		add(c, "a")
		c.queue.ShutDownWithDrain()
		if key, ok := <-keys; ok {
			t.Errorf("%q was handed out after ShutDown", key)
		}
		equal(t, "held", heldKeys(tp), "")
	})
}

func TestBadPattern(t *testing.T) {
	_, tp, _ := tappedTarget(t)
	if _, err := tp.Break(Breakpoint{Controller: "ctl", Key: "shop/["}); err == nil {
		t.Error("a pattern that is none is accepted")
	}
	if err := tp.Unbreak(7); err == nil {
		t.Error("a breakpoint that is not there is removed")
	}
}

// writing syncs keys with two writes each and tells what became of them.
func writing(ctx context.Context, c *target, tp *Tap, workers int) <-chan string {
	out := make(chan string)
	for range workers {
		go func() {
			for {
				key, shutdown := c.queue.Get()
				if shutdown {
					return
				}
				for _, verb := range []string{"create", "update"} {
					err := tp.BeforeWrite(ctx, "ctl", tp.Cause(), func() string { return verb })
					result := key + " " + verb
					if err != nil {
						result += ": " + err.Error()
					}
					out <- result
				}
				c.queue.Done(key)
			}
		}()
	}
	return out
}

func TestBreakBeforeWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		set(t, tp, Breakpoint{Controller: "ctl", Key: "b", BeforeWrite: true})
		out := writing(t.Context(), c, tp, 1)
		c.queue.Add("a")
		c.queue.Add("b")
		equal(t, "a key that does not match", <-out+", "+<-out, "a create, a update")
		synctest.Wait()
		equal(t, "held", heldKeys(tp), "b create")
		told := last[state.BreakpointHit](t, j)
		equal(t, "hit", told.Key+" "+told.Write, "b create")
		c.queue.Add("c")
		nothing(t, out)

		// A step lets one write go; the sync's next one is held.
		if err := tp.Step("ctl", "queue", "b"); err != nil {
			t.Fatal(err)
		}
		equal(t, "stepped", <-out, "b create")
		synctest.Wait()
		equal(t, "held next", heldKeys(tp), "b update")
		nothing(t, out)
		if err := tp.Step("ctl", "queue", "b"); err != nil {
			t.Fatal(err)
		}
		equal(t, "stepped", <-out, "b update")

		// The controller is still paused.
		nothing(t, out)
		tp.Resume("ctl")
		equal(t, "resumed", <-out+", "+<-out, "c create, c update")
		c.shutDown()
	})
}

// Two workers write side by side: both are held, and Resume lets both go.
func TestResumeLetsAllWritesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		number := set(t, tp, Breakpoint{Controller: "ctl", BeforeWrite: true})
		// Both are in a sync before the first is held.
		a, b := take(t, c.queueWith("a")), take(t, c.queueWith("b"))
		out := make(chan string)
		for _, key := range []string{a, b} {
			go func() {
				cause := state.Cause{Kind: state.CauseSync, Controller: "ctl", Queue: "queue", Key: key, Sync: 1}
				if err := tp.BeforeWrite(t.Context(), "ctl", cause, func() string { return "write" }); err != nil {
					t.Error(err)
				}
				out <- key
			}()
		}
		synctest.Wait()
		if got := heldKeys(tp); got != "a write, b write" && got != "b write, a write" {
			t.Errorf("held %q", got)
		}
		if err := tp.Unbreak(number); err != nil {
			t.Fatal(err)
		}
		tp.Resume("ctl")
		<-out
		<-out
		if tp.Paused("ctl") {
			t.Error("still paused")
		}
		c.queue.Done(a)
		c.queue.Done(b)
		c.shutDown()
	})
}

func (c *target) queueWith(key string) interface {
	Get() (string, bool)
	Done(string)
	Add(string)
	Len() int
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
} {
	c.queue.Add(key)
	return c.queue
}

// A write that is made in no sync is stepped without a key, and is not held by a
// breakpoint on one.
func TestBreakBeforeTimersWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		set(t, tp, Breakpoint{Controller: "ctl", Key: "*", BeforeWrite: true})
		write := func() error {
			return tp.BeforeWrite(t.Context(), "ctl", state.Cause{Kind: state.CauseTimer, Controller: "ctl"}, func() string { return "delete" })
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
		set(t, tp, Breakpoint{Controller: "ctl", BeforeWrite: true})
		done := make(chan error)
		go func() { done <- write() }()
		synctest.Wait()
		equal(t, "held", heldKeys(tp), "delete")
		if err := tp.Step("ctl", "", ""); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		c.shutDown()
	})
}

// Nothing that is held keeps a controller from ending.
func TestHeldWriteEnds(t *testing.T) {
	for name, end := range map[string]func(*target, context.CancelCauseFunc){
		"with its request":    func(_ *target, cancel context.CancelCauseFunc) { cancel(errors.New("given up")) },
		"with its controller": func(c *target, _ context.CancelCauseFunc) { c.queue.ShutDown() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, tp, _ := tappedTarget(t)
				set(t, tp, Breakpoint{Controller: "ctl", BeforeWrite: true})
				ctx, cancel := context.WithCancelCause(t.Context())
				out := writing(ctx, c, tp, 1)
				add(c, "a")
				equal(t, "held", heldKeys(tp), "a create")
				end(c, cancel)
				if got := <-out; !strings.Contains(got, "it stood at a breakpoint") {
					t.Errorf("the write: %s", got)
				}
				c.shutDown()
				if got := <-out; name == "with its controller" && got != "a update" {
					t.Errorf("a write after the end is held: %s", got)
				}
				equal(t, "held", heldKeys(tp), "")
			})
		})
	}
}

// What Run started holds nothing any more when its context ends, also where it
// has no queues.
func TestHeldWriteEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := New(&journal{})
		set(t, tp, Breakpoint{Controller: "ticker", BeforeWrite: true})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go tp.Run(ctx, "ticker", func(context.Context) {
			done <- tp.BeforeWrite(context.Background(), "ticker", tp.Cause(), func() string { return "delete" })
		})
		synctest.Wait()
		equal(t, "held", heldKeys(tp), "delete")
		cancel()
		if err := <-done; err == nil {
			t.Error("the write was let go")
		}
	})
}

// Workers, a user and breakpoints at the same time: nothing is lost, nothing
// stands for ever. For the race detector.
func TestBreakpointsUnderLoad(t *testing.T) {
	c, tp, _ := tappedTarget(t)
	const keys = 300
	out := writing(t.Context(), c, tp, 4)
	set(t, tp, Breakpoint{Controller: "ctl", Key: "*7"})
	set(t, tp, Breakpoint{Controller: "ctl", Key: "*3", BeforeWrite: true})
	go func() {
		for i := range keys {
			c.queue.Add(strings.Repeat("k", i/10) + string(rune('0'+i%10)))
		}
	}()
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, b := range tp.Breakpoints() {
				for _, h := range b.Held {
					_ = tp.Step("ctl", h.Queue, h.Key) // it may have gone
				}
			}
			tp.Resume("ctl")
			time.Sleep(time.Microsecond)
		}
	}()
	for range 2 * keys {
		select {
		case <-out:
		case <-time.After(20 * time.Second):
			t.Fatalf("writes are missing; held: %s", heldKeys(tp))
		}
	}
	close(stop)
	<-stopped
	c.shutDown()
}

// What the journal tells of pauses and breakpoints is at any time what there is, also
// after it was stated again.
func TestBreakpointsInTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		check := func(when string) {
			t.Helper()
			synctest.Wait()
			var snap *state.Snapshot
			for i, e := range of[state.Event](j) {
				snap = state.Fold(snap, state.Entry{Seq: uint64(i + 1), At: time.Now(), Event: e})
			}
			var told, held []string
			for _, b := range snap.Controls.Breakpoints.All() {
				told = append(told, fmt.Sprint(b.Number, b.Removed))
				for _, h := range snap.HoldsAt(b.Number) {
					told = append(told, h.Key+" "+h.Write)
				}
			}
			for _, b := range tp.Breakpoints() {
				held = append(held, fmt.Sprint(b.Number, b.Removed))
				for _, h := range b.Held {
					held = append(held, h.Key+" "+h.Write)
				}
			}
			if !slices.Equal(told, held) || snap.Paused("ctl") != tp.Paused("ctl") {
				t.Errorf("%s: the journal tells %q, paused %v; there is %q, paused %v", when, told, snap.Paused("ctl"), held, tp.Paused("ctl"))
			}
		}
		out := writing(t.Context(), c, tp, 1)
		set(t, tp, Breakpoint{Controller: "ctl", Key: "b", BeforeWrite: true})
		set(t, tp, Breakpoint{Controller: "ctl", Key: "k"})
		check("set")
		c.queue.Add("b")
		check("a write is held")
		if err := tp.Unbreak(1); err != nil {
			t.Fatal(err)
		}
		check("removed")
		tp.Restate()
		check("stated again")
		if err := tp.Step("ctl", "queue", "b"); err != nil {
			t.Fatal(err)
		}
		<-out
		check("stepped")
		tp.Resume("ctl")
		<-out
		c.queue.Add("k")
		check("a key is held")
		tp.Restate()
		check("stated again with a key")
		if err := tp.Drop("ctl", "queue", "k"); err != nil {
			t.Fatal(err)
		}
		check("dropped")
		equal(t, "outcome", last[state.BreakpointReleased](t, j).Outcome, state.HoldDropped)
		equal(t, "dropped by", last[state.KeyDropped](t, j).By, state.ByUser)
		tp.Resume("ctl")
		c.queue.Add("k")
		check("held again")
		c.shutDown()
		check("shut down")
		equal(t, "outcome", last[state.BreakpointReleased](t, j).Outcome, state.HoldStopped)
	})
}

func TestBreakpointsAreBounded(t *testing.T) {
	tp := New(state.RecorderFunc(func(state.Event) {}))
	for range maxBreakpoints {
		set(t, tp, Breakpoint{Controller: "ctl"})
	}
	if _, err := tp.Break(Breakpoint{Controller: "ctl"}); err == nil {
		t.Error("there is no limit")
	}
}
