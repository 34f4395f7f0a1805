package tap

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// only passes these keys of the queue "queue" of "ctl".
func only(keys ...string) Filter {
	return func(controller, queue, key string) bool {
		return controller == "ctl" && queue == "queue" && slices.Contains(keys, key)
	}
}

func TestFilterLetsSomeThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		tp.LetThrough(only("b", "d"))
		keys := worker(c)
		for _, key := range []string{"a", "b", "c", "a"} {
			c.queue.Add(key)
			synctest.Wait()
			if key == "b" {
				equal(t, "let through", <-keys, "b")
			}
		}
		c.queue.AddAfter("c", time.Second)
		c.queue.AddAfter("d", time.Second)
		equal(t, "due and let through", <-keys, "d")
		nothing(t, keys)
		a := tp.Activity()
		equal(t, "held", a.Aside, 2)
		equal(t, "at rest with keys held back", a.Moving(), []string(nil))
		for _, taken := range of[state.KeyTaken](j) {
			if taken.Key == "a" || taken.Key == "c" {
				t.Errorf("%s was taken", taken.Key)
			}
		}

		// What is held back comes when the filter widens, with all it was added for.
		tp.LetThrough(only("a"))
		equal(t, "passes now", <-keys, "a")
		synctest.Wait()
		equal(t, "additions in one", last[state.KeyTaken](t, j).Causes, 2)
		nothing(t, keys)
		tp.LetThrough(nil)
		equal(t, "the rest", <-keys, "c")
		synctest.Wait()
		equal(t, "held at the end", tp.Activity().Aside, 0)
		c.queue.Add("c")
		equal(t, "again", <-keys, "c")
		c.shutDown()
		<-keys
	})
}

// A key that becomes dirty during its sync is asked about again.
func TestFilterAtTheSecondSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		c.queue.Add("a")
		take(t, c.queue)
		c.queue.Add("a")
		tp.LetThrough(only())
		c.queue.Done("a")
		keys := worker(c)
		nothing(t, keys)
		equal(t, "held", tp.Activity().Aside, 1)
		tp.LetThrough(nil)
		equal(t, "after the filter", <-keys, "a")
		c.shutDown()
		<-keys
	})
}

func TestControlOfHeldKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		tp.LetThrough(only())
		keys := worker(c)
		c.queue.Add("a")
		c.queue.Add("b")
		nothing(t, keys)
		tp.Pause("ctl")
		if err := tp.Step("ctl", "queue", "a"); err != nil {
			t.Fatal(err)
		}
		equal(t, "stepped past the filter", <-keys, "a")
		if err := tp.Drop("ctl", "queue", "b"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		equal(t, "dropped", last[state.KeyDropped](t, j).Key, "b")
		tp.Resume("ctl")
		tp.LetThrough(nil)
		nothing(t, keys)
		equal(t, "held at the end", tp.Activity().Aside, 0)
		c.shutDown()
		<-keys
	})
}

// The worker of a queue with nothing to let through still ends with it.
func TestShutDownWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		tp.LetThrough(only())
		keys := worker(c)
		c.queue.Add("a")
		nothing(t, keys)
		c.queue.ShutDownWithDrain()
		if key, ok := <-keys; ok {
			t.Errorf("%q was handed out after ShutDown", key)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		tp.LetThrough(only("b"))
		c.queue.Add("a")
		c.queue.Add("b")
		c.queue.ShutDown()
		keys := worker(c)
		equal(t, "left when it was shut down", <-keys, "b")
		if key, ok := <-keys; ok {
			t.Errorf("%q was handed out after ShutDown", key)
		}
	})
}

// Queues attached after the filter was set have it too, with the keys that they
// held before.
func TestFilterBeforeAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := New(&journal{})
		tp.LetThrough(only("b"))
		c := newTarget()
		c.queue.Add("a")
		c.queue.Add("b")
		if err := tp.Attach("ctl", c, Strings("queue", "queue")); err != nil {
			t.Fatal(err)
		}
		keys := worker(c)
		equal(t, "let through", <-keys, "b")
		nothing(t, keys)
		c.shutDown()
		<-keys
	})
}
