package tap

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// worker hands the keys it gets to the channel and takes each as done at once.
func worker(c *target) <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		for {
			key, shutdown := c.queue.Get()
			if shutdown {
				return
			}
			keys <- key
			c.queue.Done(key)
		}
	}()
	return keys
}

func nothing(t *testing.T, keys <-chan string) {
	t.Helper()
	synctest.Wait()
	select {
	case key := <-keys:
		t.Fatalf("got %q", key)
	default:
	}
}

func TestPauseHoldsKeysInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		keys := worker(c)
		tp.Pause("ctl")
		c.queue.Add("a")
		c.queue.Add("b")
		c.queue.Add("c")
		c.queue.AddAfter("d", time.Second)
		time.Sleep(2 * time.Second)
		nothing(t, keys)
		equal(t, "ready", tp.Activity().Ready, 4)
		tp.Resume("ctl")
		equal(t, "order", <-keys+<-keys+<-keys+<-keys, "abcd")
		c.shutDown()
		<-keys
	})
}

func TestStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		keys := worker(c)
		if err := tp.Step("ctl", "queue", "a"); err == nil || !strings.Contains(err.Error(), "not paused") {
			t.Errorf("step while running: %v", err)
		}
		tp.Pause("ctl")
		c.queue.Add("a")
		c.queue.Add("b")
		c.queue.Add("c")
		c.queue.AddAfter("d", time.Hour)
		for _, key := range []string{"b", "d"} {
			if err := tp.Step("ctl", "queue", key); err != nil {
				t.Fatal(err)
			}
			equal(t, "stepped", <-keys, key)
			nothing(t, keys)
		}
		equal(t, "cause of a hurried key", last[state.KeyTaken](t, j).Cause, state.Cause{Kind: state.CauseUser, Controller: "ctl"})
		if err := tp.Step("ctl", "queue", "d"); err == nil || !strings.Contains(err.Error(), "does not hold it") {
			t.Errorf("step of a key that is gone: %v", err)
		}
		if err := tp.Step("ctl", "none", "a"); err == nil {
			t.Error("step in an unknown queue")
		}
		tp.Resume("ctl")
		equal(t, "the others keep their order", <-keys+<-keys, "ac")
		c.shutDown()
		<-keys
	})
}

// A worker must outlive what is asked of its paused queue meanwhile: nobody
// starts another one.
func TestPausedWorkerLives(t *testing.T) {
	for name, then := range map[string]func(*Tap) error{
		"step twice":     func(tp *Tap) error { return tp.Step("ctl", "queue", "a") },
		"step then drop": func(tp *Tap) error { return tp.Drop("ctl", "queue", "a") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, tp, j := tappedTarget(t)
				tp.Pause("ctl")
				c.queue.Add("a")
				c.queue.Add("b")
				if err := tp.Step("ctl", "queue", "a"); err != nil {
					t.Fatal(err)
				}
				if err := then(tp); err != nil {
					t.Fatal(err)
				}
				keys := worker(c)
				if len(of[state.KeyDropped](j)) == 0 {
					equal(t, "stepped", <-keys, "a")
				}
				nothing(t, keys)
				// What is asked while the worker waits in Get, as well.
				if err := tp.Step("ctl", "queue", "b"); err != nil {
					t.Fatal(err)
				}
				_ = then(tp) // the queue may not hold it any more
				equal(t, "stepped while it waits", <-keys, "b")
				nothing(t, keys)
				tp.Resume("ctl")
				c.queue.Add("c")
				equal(t, "after the pause", <-keys, "c")
				c.shutDown()
				<-keys
			})
		})
	}
}

// A key that was dropped is stepped again only if that is asked again.
func TestDropForgetsTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		tp.Pause("ctl")
		c.queue.Add("a")
		if err := errors.Join(tp.Step("ctl", "queue", "a"), tp.Drop("ctl", "queue", "a")); err != nil {
			t.Fatal(err)
		}
		c.queue.Add("a")
		keys := worker(c)
		nothing(t, keys)
		tp.Resume("ctl")
		equal(t, "after the pause", <-keys, "a")
		c.shutDown()
		<-keys
	})
}

func TestRetryNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		c.queue.AddRateLimited("a")
		c.queue.AddRateLimited("a")
		if err := tp.RetryNow("ctl", "queue", "a"); err != nil {
			t.Fatal(err)
		}
		if err := tp.RetryNow("ctl", "queue", "a"); err == nil {
			t.Error("a second retry of the same key")
		}
		take(t, c.queue)
		equal(t, "the retry count stays", c.queue.NumRequeues("a"), 2)
		c.queue.Done("a")
		time.Sleep(time.Hour)
		equal(t, "the old due time is gone", c.queue.Len(), 0)
	})
}

func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		drop := func(key string) {
			t.Helper()
			if err := tp.Drop("ctl", "queue", key); err != nil {
				t.Error(err)
			}
		}
		c.queue.AddRateLimited("late")
		drop("late")
		equal(t, "retries of a dropped key", c.queue.NumRequeues("late"), 0)

		c.queue.Add("a")
		c.queue.Add("b")
		c.queue.Add("c")
		drop("b")
		equal(t, "order of the rest", take(t, c.queue)+take(t, c.queue), "ac")
		if err := tp.Drop("ctl", "queue", "a"); err == nil || !strings.Contains(err.Error(), "being processed") {
			t.Errorf("drop of a key being processed: %v", err)
		}
		c.queue.Add("a")
		drop("a")
		equal(t, "dropped so far", len(of[state.KeyDropped](j)), 2)
		c.queue.Done("a")
		c.queue.Done("c")
		equal(t, "dropped", len(of[state.KeyDropped](j)), 3)
		time.Sleep(time.Hour)
		equal(t, "left", c.queue.Len(), 0)
		c.queue.Add("b")
		equal(t, "added again", take(t, c.queue), "b")
		c.queue.Done("b")
	})
}

func TestShutDownWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		keys := worker(c)
		tp.Pause("ctl")
		c.queue.Add("a")
		nothing(t, keys)
		c.queue.ShutDownWithDrain()
		if key, ok := <-keys; ok {
			t.Errorf("%q was handed out after ShutDown", key)
		}
	})
}
