package tap

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestLifeOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		start := time.Now()

		tp.Run(t.Context(), "ctl", func(context.Context) { c.queue.Add("shop/web") })
		c.queue.Add("shop/web")
		time.Sleep(3 * time.Second)
		take(t, c.queue)
		tp.CountWrite(tp.Cause())
		time.Sleep(time.Second)
		c.queue.AddRateLimited("shop/web")
		c.queue.Done("shop/web")

		sync := state.Cause{Kind: state.CauseSync, Controller: "ctl", Queue: "queue", Key: "shop/web", Sync: 1}
		timer := state.Cause{Kind: state.CauseTimer, Controller: "ctl"}
		equal(t, "added", of[state.KeyAdded](j), []state.KeyAdded{
			{Controller: "ctl", Queue: "queue", Key: "shop/web", How: "Add", Cause: timer},
			{Controller: "ctl", Queue: "queue", Key: "shop/web", How: "Add", Merged: true, Cause: state.Cause{Kind: state.CauseUnknown}},
			{Controller: "ctl", Queue: "queue", Key: "shop/web", How: "AddRateLimited", Delay: time.Second,
				Due: start.Add(5 * time.Second), Retries: 1, Cause: sync},
		})
		equal(t, "taken", last[state.KeyTaken](t, j), state.KeyTaken{Controller: "ctl", Queue: "queue", Key: "shop/web",
			Sync: 1, Waited: 3 * time.Second, Cause: timer, Causes: 2})
		equal(t, "finished", last[state.KeyFinished](t, j), state.KeyFinished{Controller: "ctl", Queue: "queue", Key: "shop/web",
			Sync: 1, Duration: time.Second, Failed: true, Writes: 1})
		equal(t, "waiting", tp.Activity().Waiting, []Due{{Controller: "ctl", Queue: "queue", Key: "shop/web", Due: start.Add(5 * time.Second), Retries: 1}})

		take(t, c.queue)
		equal(t, "time of the retry", time.Since(start), 5*time.Second)
		equal(t, "ready", of[state.KeyReady](j), []state.KeyReady{{Controller: "ctl", Queue: "queue", Key: "shop/web"}})
		equal(t, "cause of the retry", last[state.KeyTaken](t, j).Cause, sync)
		c.queue.Forget("shop/web")
		c.queue.Forget("shop/web")
		c.queue.Done("shop/web")
		equal(t, "forgotten", of[state.KeyForgotten](j), []state.KeyForgotten{{Controller: "ctl", Queue: "queue", Key: "shop/web", Retries: 1}})
		equal(t, "second sync", last[state.KeyFinished](t, j), state.KeyFinished{Controller: "ctl", Queue: "queue", Key: "shop/web", Sync: 2})
		if a := tp.Activity(); !a.atRest() || len(a.Waiting) > 0 || a.Moving() != nil {
			t.Errorf("not at rest: %+v", a)
		}
	})
}

func TestDirtyKeyRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, j := tappedTarget(t)
		c.queue.Add("a")
		take(t, c.queue)
		c.queue.Add("a")
		equal(t, "ready while dirty", c.queue.Len(), 0)
		time.Sleep(time.Second)
		c.queue.Done("a")
		time.Sleep(time.Second)
		if !last[state.KeyFinished](t, j).Dirty {
			t.Error("the sync is not marked dirty")
		}
		take(t, c.queue)
		equal(t, "waited since Done", last[state.KeyTaken](t, j).Waited, time.Second)
	})
}

func TestDirtyKeyWakesAnotherWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := tappedTarget(t)
		c.queue.Add("a")
		take(t, c.queue)
		second := make(chan string)
		go func() { second <- take(t, c.queue) }()
		synctest.Wait()
		c.queue.Add("a")
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("a key is processed twice at a time")
		default:
		}
		c.queue.Done("a")
		equal(t, "the second worker got", <-second, "a")
	})
}

func TestEarlierDueCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, j := tappedTarget(t)
		start := time.Now()
		c.queue.AddAfter("a", 10*time.Second)
		c.queue.AddAfter("a", 4*time.Second)
		c.queue.AddAfter("a", 7*time.Second)
		take(t, c.queue)
		equal(t, "due", time.Since(start), 4*time.Second)
		equal(t, "causes", last[state.KeyTaken](t, j).Causes, 3)
		c.queue.Done("a")
		time.Sleep(time.Minute)
		equal(t, "left in the queue", c.queue.Len(), 0)

		c.queue.AddAfter("b", 0)
		c.queue.AddAfter("c", -time.Second)
		equal(t, "ready at once", c.queue.Len(), 2)
	})
}

func TestShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, j := tappedTarget(t, Strings("queue", "queue"), Strings("plain", "inner.plain"))
		c.queue.Add("a")
		c.queue.AddAfter("later", time.Second)
		ended := make(chan bool)
		go func() {
			_, shutdown := c.inner.plain.Get()
			ended <- shutdown
		}()
		synctest.Wait()
		c.queue.ShutDown()
		added := len(of[state.KeyAdded](j))
		c.queue.Add("b")
		c.queue.AddAfter("b", time.Second)
		c.queue.AddRateLimited("b")
		equal(t, "added after ShutDown", len(of[state.KeyAdded](j))-added, 0)
		equal(t, "what was ready is handed out", take(t, c.queue), "a")
		c.queue.Done("a")
		time.Sleep(time.Minute)
		if _, shutdown := c.queue.Get(); !shutdown || !c.queue.ShuttingDown() {
			t.Error("Get does not say that the queue is shut down")
		}
		c.queue.ShutDown()
		c.inner.plain.ShutDown()
		equal(t, "a waiting worker is sent home", <-ended, true)
	})
}

func TestShutDownWithDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := tappedTarget(t)
		c.queue.Add("a")
		c.queue.Add("b")
		take(t, c.queue)
		drained := make(chan struct{})
		go func() {
			c.queue.ShutDownWithDrain()
			close(drained)
		}()
		synctest.Wait()
		take(t, c.queue)
		c.queue.Done("a")
		synctest.Wait()
		select {
		case <-drained:
			t.Fatal("drained while a key is being processed")
		default:
		}
		c.queue.Done("b")
		<-drained
	})
}

func TestPeriodicQueueDoesNotFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, j := tappedTarget(t, Strings("queue", "queue").Periodic())
		c.queue.Add("a")
		take(t, c.queue)
		c.queue.AddRateLimited("a")
		c.queue.Done("a")
		if last[state.KeyFinished](t, j).Failed || last[state.KeyAdded](t, j).Retries != 0 {
			t.Error("a periodic repetition counts as a failure")
		}
	})
}

func TestControllerThatTellsItsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t, Strings("queue", "queue").TellsErrors())
		c.queue.Add("a")
		take(t, c.queue)
		c.queue.AddRateLimited("a") // as deployment's overdue check of progress
		c.queue.Done("a")
		if last[state.KeyFinished](t, j).Failed || last[state.KeyAdded](t, j).Retries != 1 {
			t.Error("a look again without an error counts as a failure, or not as a retry")
		}
		time.Sleep(time.Second)
		take(t, c.queue)
		tp.Report(errors.New("boom"))
		c.queue.AddRateLimited("a")
		c.queue.Done("a")
		if e := last[state.KeyFinished](t, j); !e.Failed || e.Error != "boom" {
			t.Errorf("what was told is no failure: %+v", e)
		}
	})
}

func TestRetryByAnotherIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, j := tappedTarget(t, Strings("queue", "queue"), Strings("plain", "inner.plain"))
		c.queue.Add("a")
		take(t, c.queue)
		done := make(chan struct{})
		go func() { // another queue's sync, as disruption's recheck
			defer close(done)
			c.inner.plain.Add("a")
			c.inner.plain.Get()
			c.queue.AddRateLimited("a")
			c.inner.plain.Done("a")
		}()
		<-done
		c.queue.Done("a")
		for _, e := range of[state.KeyFinished](j) {
			if e.Failed {
				t.Errorf("%s %s counts as failed", e.Queue, e.Key)
			}
		}
	})
}

func TestWorkAfterDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t, Strings("queue", "queue"), Strings("plain", "inner.plain").WorksAfterDone())
		c.queue.Add("ns/claim")
		go func() { take(t, c.queue) }() // pvcprotection's main worker goes for the next one
		synctest.Wait()
		c.inner.plain.Add("ns")
		take(t, c.inner.plain)
		c.inner.plain.Done("ns")
		equal(t, "cause after Done", tp.Cause().Key, "ns")
		c.queue.AddRateLimited("ns/claim")
		c.queue.Done("ns/claim")
		if !last[state.KeyFinished](t, j).Failed {
			t.Error("the retry from another goroutine is no failure")
		}
		c.inner.plain.Add("other")
		take(t, c.inner.plain)
		equal(t, "cause in the next sync", tp.Cause().Key, "other")
	})
}

func TestErrorsOfASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t)
		tp.Report(errors.New("outside"))
		c.queue.Add("a")
		take(t, c.queue)
		tp.Report(nil)
		tp.ErrorHandler(t.Context(), errors.New("conflict"), "Sync failed")
		tp.Report(errors.New("timeout"))
		tp.Report(errors.New("timeout"))
		c.queue.Done("a")
		f := last[state.KeyFinished](t, j)
		if !f.Failed || f.Error != "conflict (and 2 more)" {
			t.Errorf("finished: %+v", f)
		}
	})
}

func TestAdoptsWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, j := newTarget(), &journal{}
		defer c.shutDown()
		c.queue.Add("b")
		c.queue.Add("a")
		if err := New(j).Attach("ctl", c, Strings("queue", "queue")); err != nil {
			t.Fatal(err)
		}
		equal(t, "order", take(t, c.queue)+take(t, c.queue), "ba")
		equal(t, "cause", last[state.KeyTaken](t, j).Cause.Kind, state.CauseUnknown)
	})
}

func TestMovingInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		changed := tp.Changed()
		before := tp.Activity().Generation
		c.queue.Add("a")
		c.queue.Add("b")
		select {
		case <-changed:
		default:
			t.Error("Changed did not tell")
		}
		take(t, c.queue)
		a := tp.Activity()
		equal(t, "moving", strings.Join(a.Moving(), "; "), "ctl: 1 ready in queue queue; ctl: a is being processed")
		if a.Generation <= before {
			t.Error("the generation did not rise")
		}
		equal(t, "queues", tp.Queues("ctl"), []string{"queue"})
	})
}
