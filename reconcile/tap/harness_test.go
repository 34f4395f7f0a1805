package tap

import (
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Upstream's default handlers sleep until a millisecond after the last error
// of the process: in a synctest bubble, whose clock starts in 2000, that takes
// decades.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// journal is a Recorder that keeps what it is given.
type journal struct {
	mu     sync.Mutex
	events []state.Event
}

func (j *journal) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// of returns the events of one type, in order.
func of[E state.Event](j *journal) []E {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []E
	for _, e := range j.events {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// last returns the last event of a type.
func last[E state.Event](t *testing.T, j *journal) E {
	t.Helper()
	all := of[E](j)
	if len(all) == 0 {
		t.Fatalf("no %T was recorded", *new(E))
	}
	return all[len(all)-1]
}

// target stands for a controller: upstream's queues in unexported fields.
type target struct {
	queue workqueue.TypedRateLimitingInterface[string]
	inner struct {
		slow *struct {
			queue workqueue.TypedDelayingInterface[string]
		}
		plain workqueue.TypedInterface[string]
	}
	//lint:ignore SA1019 nodeipam has one
	untyped workqueue.RateLimitingInterface
}

// backOff is the rate limiter of a target's queue: 1s, 2s, 4s…
func backOff() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
}

func newTarget() *target {
	c := &target{queue: workqueue.NewTypedRateLimitingQueue(backOff())}
	c.inner.slow = &struct {
		queue workqueue.TypedDelayingInterface[string]
	}{workqueue.NewTypedDelayingQueue[string]()}
	c.inner.plain = workqueue.NewTyped[string]()
	//lint:ignore SA1019 nodeipam makes it so
	c.untyped = workqueue.NewNamedRateLimitingQueue(workqueue.DefaultControllerRateLimiter(), "")
	return c
}

func (c *target) shutDown() {
	c.queue.ShutDown()
	c.inner.slow.queue.ShutDown()
	c.inner.plain.ShutDown()
	c.untyped.ShutDown()
}

// tappedTarget returns a target whose queue is attached as "ctl", "queue".
func tappedTarget(t *testing.T, specs ...Spec) (*target, *Tap, *journal) {
	t.Helper()
	j := &journal{}
	tp := New(j)
	c := newTarget()
	t.Cleanup(c.shutDown)
	if specs == nil {
		specs = []Spec{Strings("queue", "queue")}
	}
	if err := tp.Attach("ctl", c, specs...); err != nil {
		t.Fatal(err)
	}
	return c, tp, j
}

// take gets a key and fails the test if the queue is shut down.
func take(t *testing.T, q workqueue.TypedInterface[string]) string {
	t.Helper()
	key, shutdown := q.Get()
	if shutdown {
		t.Fatal("the queue is shut down")
	}
	return key
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
