package tap

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// op is one call on a queue.
type op struct {
	name  string
	key   string
	delay time.Duration
}

func drawOps(t *rapid.T) []op {
	n := rapid.IntRange(1, 60).Draw(t, "n")
	ops := make([]op, n)
	for i := range ops {
		ops[i] = op{
			name: rapid.SampledFrom([]string{
				"Add", "Add", "AddAfter", "AddAfter", "AddRateLimited", "Forget", "Get", "Get", "Done", "Sleep", "NumRequeues",
			}).Draw(t, "op"),
			key: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"),
			// No two calls are due at once: upstream leaves their order open.
			delay: time.Duration(rapid.IntRange(-1, 20).Draw(t, "delay"))*time.Second + time.Duration(i)*time.Microsecond,
		}
	}
	return ops
}

// replay makes the calls and returns what they answered.
func replay(t *testing.T, q workqueue.TypedRateLimitingInterface[string], ops []op) []string {
	var answers []string
	var held []string
	get := func() {
		key, shutdown := q.Get()
		if !shutdown {
			held = append(held, key)
		}
		answers = append(answers, fmt.Sprint("get ", key, shutdown))
	}
	for _, o := range ops {
		switch o.name {
		case "Add":
			q.Add(o.key)
		case "AddAfter":
			q.AddAfter(o.key, o.delay)
		case "AddRateLimited":
			q.AddRateLimited(o.key)
		case "Forget":
			q.Forget(o.key)
		case "Get":
			if q.Len() > 0 {
				get()
			}
		case "Done":
			if len(held) > 0 {
				q.Done(held[0])
				held = held[1:]
			}
		case "Sleep":
			time.Sleep(o.delay)
		case "NumRequeues":
			answers = append(answers, fmt.Sprint("requeues ", q.NumRequeues(o.key)))
		}
		synctest.Wait()
		answers = append(answers, fmt.Sprint("len ", q.Len()))
	}
	q.ShutDown()
	for i := 0; i < 10 && (len(answers) == 0 || answers[len(answers)-1] != "get true"); i++ {
		get()
	}
	return append(answers, fmt.Sprint(q.ShuttingDown()))
}

// A decorated queue answers every sequence of calls as the original does.
func TestSameAsUpstream(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := drawOps(rt)
		var want, got []string
		synctest.Test(t, func(t *testing.T) {
			want = replay(t, workqueue.NewTypedRateLimitingQueue(backOff()), ops)
		})
		synctest.Test(t, func(t *testing.T) {
			c, _, _ := tappedTarget(t)
			got = replay(t, c.queue, ops)
		})
		if !slices.Equal(want, got) {
			rt.Fatalf("%v\nupstream %q\ntapped   %q", ops, want, got)
		}
	})
}

// Under many workers no key is lost, none is processed twice at a time, and
// what is recorded adds up.
func TestManyWorkers(t *testing.T) {
	const keys, rounds, workers = 50, 200, 8
	c, tp, j := tappedTarget(t)
	var running [keys]atomic.Int32
	var syncs atomic.Int64
	var adders, ws sync.WaitGroup
	for range workers {
		ws.Go(func() {
			for {
				key, shutdown := c.queue.Get()
				if shutdown {
					return
				}
				var i int
				fmt.Sscan(key, &i)
				if running[i].Add(1) != 1 {
					t.Errorf("%s is processed twice at a time", key)
				}
				if cause := tp.Cause(); cause.Key != key {
					t.Errorf("sync of %s has the cause %+v", key, cause)
				}
				tp.CountWrite(tp.Cause())
				syncs.Add(1)
				running[i].Add(-1)
				c.queue.Done(key)
			}
		})
	}
	for w := range 4 {
		adders.Go(func() {
			for i := range rounds {
				key := fmt.Sprint((i*7 + w) % keys)
				c.queue.Add(key)
				c.queue.AddAfter(key, time.Duration(i%3)*time.Microsecond)
			}
		})
	}
	adders.Wait()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if a := tp.Activity(); a.atRest() && len(a.Waiting) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not at rest: %+v", tp.Activity())
		}
	}
	c.queue.ShutDown()
	ws.Wait()

	taken, finished := of[state.KeyTaken](j), of[state.KeyFinished](j)
	numbers, causes := map[uint64]bool{}, 0
	for _, e := range taken {
		numbers[e.Sync] = true
		causes += e.Causes
	}
	for _, e := range finished {
		if e.Writes != 1 {
			t.Errorf("sync %d: %d writes", e.Sync, e.Writes)
		}
	}
	if n := int(syncs.Load()); len(taken) != n || len(finished) != n || len(numbers) != n {
		t.Errorf("%d syncs, %d taken, %d finished, %d numbers", n, len(taken), len(finished), len(numbers))
	}
	equal(t, "additions behind the syncs", causes, 4*rounds*2)
	equal(t, "additions recorded", len(of[state.KeyAdded](j)), 4*rounds*2)
	if n := len(c.queue.(*queue[string]).entries); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}
