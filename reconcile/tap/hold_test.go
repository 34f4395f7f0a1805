package tap

import (
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// counted counts the operations on the original of the queue "queue" of "ctl".
type counted struct{ gets, dones, adds int }

func count(tp *Tap) *counted {
	q := tp.queues["ctl"][0].(*queue[string])
	n, orig := &counted{}, q.orig
	q.orig.get = func() (string, bool) { n.gets++; return orig.get() }
	q.orig.done = func(k string) { n.dones++; orig.done(k) }
	q.orig.add = func(k string) { n.adds++; orig.add(k) }
	return n
}

// A breakpoint stops at a key by taking it from upstream's queue, however many
// others are in it.
func TestHoldTakesOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		for i := range 1000 {
			c.queue.Add("key-" + strconv.Itoa(i))
		}
		set(t, tp, Breakpoint{Controller: "ctl", Key: "key-0"})
		n := count(tp)
		keys := worker(c)
		synctest.Wait()
		equal(t, "held", heldKeys(tp), "key-0")
		equal(t, "operations on upstream's queue", *n, counted{gets: 1})
		equal(t, "depth", c.queue.Len(), 1000)
		equal(t, "ready", tp.Activity().Ready, 1000)
		tp.Resume("ctl")
		for i := range 1000 {
			equal(t, "order", <-keys, "key-"+strconv.Itoa(i))
		}
		c.shutDown()
		<-keys
	})
}

// A key that stands at a breakpoint is ready: what is added meanwhile is one
// addition with it, and it is synced once.
func TestHeldKeyIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		set(t, tp, Breakpoint{Controller: "ctl", Key: "a"})
		keys := worker(c)
		add(c, "a", "b")
		c.queue.Add("a")
		c.queue.AddAfter("a", 0)
		equal(t, "depth", c.queue.Len(), 2)
		tp.Resume("ctl")
		equal(t, "order", <-keys+" "+<-keys, "a b")
		nothing(t, keys)
		taken := of[state.KeyTaken](j)
		equal(t, "causes", taken[0].Causes, 3)
		equal(t, "syncs", len(taken), 2)
		c.shutDown()
		<-keys
	})
}

// A filter that no longer passes a held key takes it aside when it is let go.
func TestFilterHeldKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		set(t, tp, Breakpoint{Controller: "ctl", Key: "a"})
		keys := worker(c)
		add(c, "a", "b")
		tp.LetThrough(func(_, _, key string) bool { return key != "a" })
		tp.Resume("ctl")
		equal(t, "passes", <-keys, "b")
		nothing(t, keys)
		equal(t, "aside", tp.Activity().Aside, 1)
		tp.LetThrough(nil)
		equal(t, "passes at last", <-keys, "a")
		c.shutDown()
		<-keys
	})
}

// What stands at a breakpoint does not hold a drain up, and is still in the queue
// after it.
func TestDrainAtABreakpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		set(t, tp, Breakpoint{Controller: "ctl"})
		keys := worker(c)
		add(c, "a", "b")
		c.queue.ShutDownWithDrain()
		equal(t, "depth", c.queue.Len(), 2)
		_, ok := <-keys
		equal(t, "handed out", ok, false)
	})
}

// BenchmarkHold is one stop at a breakpoint, with keys behind the one that is held:
// until it is held, and let go again.
func BenchmarkHold(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := newTarget()
			defer c.shutDown()
			tp := New(sinkhole{})
			if err := tp.Attach("ctl", c, Strings("queue", "queue")); err != nil {
				b.Fatal(err)
			}
			for i := range n {
				c.queue.Add("key-" + strconv.Itoa(i))
			}
			if _, err := tp.Break(Breakpoint{Controller: "ctl"}); err != nil {
				b.Fatal(err)
			}
			q := tp.queues["ctl"][0].(*queue[string])
			b.ReportAllocs()
			for b.Loop() {
				q.mu.Lock()
				_, taken := q.take()
				q.exempt, q.held, q.paused = nil, nil, false
				q.mu.Unlock()
				if taken {
					b.Fatal("no key was held")
				}
				tp.breaks.resume("ctl")
			}
		})
	}
}
