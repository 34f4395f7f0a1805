package tap

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// watched runs WatchForStalls on a ticker of a second until the test ends.
func watchStalls(t *testing.T, tp *Tap) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ticker := time.NewTicker(time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tp.WatchForStalls(ctx, ticker.C)
	}()
	t.Cleanup(func() {
		cancel()
		ticker.Stop()
		<-done
	})
}

// A key that gets into the original behind the decorator's back, as happened to
// the ReplicationController controller, is a stall after two seconds, and no
// longer one when something wakes a worker.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		defer tp.Close()
		watchStalls(t, tp)
		taken := takeAll(c)
		synctest.Wait()
		equal(t, "idle", tp.Idle("ctl"), map[string]int{"queue": 1})
		q := c.queue.(*queue[string])
		began := time.Now()
		q.orig.add("lost")
		time.Sleep(2500 * time.Millisecond)
		equal(t, "stalls after 2.5s", len(of[state.QueueStalled](j)), 0)
		time.Sleep(time.Second)
		stalls := of[state.QueueStalled](j)
		if len(stalls) != 1 {
			t.Fatalf("stalls: %+v", stalls)
		}
		s := stalls[0]
		equal(t, "first seen", s.Since.Sub(began), time.Second)
		s.Since = time.Time{}
		equal(t, "stall", s, state.QueueStalled{Controller: "ctl", Queue: "queue", Ready: 1, Idle: 1})

		c.queue.Add("next")
		synctest.Wait()
		equal(t, "taken", *taken, []string{"lost", "next"})
		time.Sleep(time.Second)
		equal(t, "resumed", last[state.QueueStalled](t, j).Resumed, true)
		time.Sleep(time.Minute)
		equal(t, "stalls and their ends", len(of[state.QueueStalled](j)), 2)
	})
}

// takeAll takes every key of the target's queue, and gives it back at once.
func takeAll(c *target) *[]string {
	var taken []string
	go func() {
		for {
			key, shutdown := c.queue.Get()
			if shutdown {
				return
			}
			taken = append(taken, key)
			c.queue.Done(key)
		}
	}()
	return &taken
}

// What the user holds back is no stall, and neither is a key for which every
// worker is busy, nor a busy queue.
func TestNoStall(t *testing.T) {
	for name, hold := range map[string]func(*Tap, *target){
		"paused":   func(tp *Tap, _ *target) { tp.Pause("ctl") },
		"filtered": func(tp *Tap, _ *target) { tp.LetThrough(Filter(func(string, string, string) bool { return false })) },
		"no worker": func(_ *Tap, c *target) {
			c.queue.Add("first") // whose sync never ends
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, tp, j := tappedTarget(t)
				defer tp.Close()
				watchStalls(t, tp)
				go c.queue.Get()
				synctest.Wait()
				hold(tp, c)
				synctest.Wait()
				c.queue.Add("shop/web")
				time.Sleep(time.Minute)
				equal(t, "stalls", of[state.QueueStalled](j), nil)
			})
		})
	}
	t.Run("busy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, tp, j := tappedTarget(t)
			defer tp.Close()
			watchStalls(t, tp)
			takeAll(c)
			for range 100 {
				c.queue.Add("shop/web")
				time.Sleep(100 * time.Millisecond)
			}
			equal(t, "stalls", of[state.QueueStalled](j), nil)
		})
	})
}

// After a suspend the workers get their time to wake: the clock has run, they
// have not.
func TestNoStallAfterSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		defer tp.Close()
		takeAll(c)
		synctest.Wait()
		q := c.queue.(*queue[string])
		q.orig.add("lost")
		seen, now := map[tapped]*stall{}, time.Now()
		var last time.Time
		for _, at := range []time.Duration{0, time.Second, time.Hour, time.Hour + time.Second} {
			last = tp.lookAgain(t.Context(), seen, last, now.Add(at))
		}
		equal(t, "stalls", of[state.QueueStalled](j), nil)
		tp.lookAgain(t.Context(), seen, last, now.Add(time.Hour+2*time.Second))
		equal(t, "stalls", len(of[state.QueueStalled](j)), 1)
		c.queue.Add("next")
	})
}
