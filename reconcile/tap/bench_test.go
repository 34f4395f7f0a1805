package tap

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// sinkhole records nothing, so that the benchmarks show the tap alone.
type sinkhole struct{}

func (sinkhole) Record(state.Event) {}

func cycle(b *testing.B, q workqueue.TypedRateLimitingInterface[string]) {
	b.ReportAllocs()
	for b.Loop() {
		q.Add("shop/web")
		key, _ := q.Get()
		q.Forget(key)
		q.Done(key)
	}
}

// BenchmarkCycle is one key's way through a queue: Add, Get, Forget, Done.
func BenchmarkCycle(b *testing.B) {
	b.Run("upstream", func(b *testing.B) {
		c := newTarget()
		defer c.shutDown()
		cycle(b, c.queue)
	})
	b.Run("tapped", func(b *testing.B) {
		c := newTarget()
		defer c.shutDown()
		if err := New(sinkhole{}).Attach("ctl", c, Strings("queue", "queue")); err != nil {
			b.Fatal(err)
		}
		cycle(b, c.queue)
	})
}

// BenchmarkHandler is one event delivered to one handler, which adds a key.
func BenchmarkHandler(b *testing.B) {
	tp := New(sinkhole{})
	w := &watched{tap: tp, kind: state.Ref{Resource: "pods"}, name: "pods"}
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u", ResourceVersion: "12345"}}
	run := func(b *testing.B, next cache.ResourceEventHandler) {
		b.ReportAllocs()
		for b.Loop() {
			next.OnAdd(obj, true)
		}
	}
	idle := cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}
	asks := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { tp.Cause() }}
	b.Run("upstream", func(b *testing.B) { run(b, idle) })
	b.Run("tapped", func(b *testing.B) { run(b, newHandler(w, "ctl", idle)) })
	b.Run("tapped, adds", func(b *testing.B) { run(b, newHandler(w, "ctl", asks)) })
	b.Run("own", func(b *testing.B) { run(b, newHandler(w, "", nil)) })
}

// BenchmarkEnabled is a log call above the level that the tap listens to.
func BenchmarkEnabled(b *testing.B) {
	s := &sink{tap: New(sinkhole{})}
	for b.Loop() {
		if s.Enabled(4) {
			b.Fatal("enabled")
		}
	}
}
