package tap

//lint:file-ignore U1000 unread fields stand for upstream's

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestAttachToEveryFlavour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, j := tappedTarget(t,
			Strings("limiting", "queue"),
			Strings("delaying", "inner.slow.queue"),
			Strings("plain", "inner.plain"),
			Of("untyped", "untyped", func(k any) string { return k.(string) }),
		)
		defer tp.Close()
		c.queue.AddRateLimited("a")
		c.inner.slow.queue.AddAfter("a", time.Second)
		c.inner.plain.Add("a")
		c.untyped.AddRateLimited("a")
		take(t, c.queue)
		take(t, c.inner.slow.queue)
		take(t, c.inner.plain)
		key, _ := c.untyped.Get()
		equal(t, "untyped key", key, any("a"))
		taken := map[string]uint64{}
		for _, e := range of[state.KeyTaken](j) {
			taken[e.Queue] = e.Sync
		}
		equal(t, "taken", taken, map[string]uint64{"limiting": 1, "delaying": 2, "plain": 3, "untyped": 4})
		equal(t, "the untyped queue's limiter", c.untyped.NumRequeues("a"), 1)
	})
}

// Real stands for upstream's unexported key types: a pointer to a struct that
// goes on behind the mirror, and a struct.
type (
	realNode struct {
		identity struct{ Kind, Name string }
		children map[string]int
	}
	realItem struct {
		namespace string
		name      string
		kind      realKind
	}
	realKind int
	realCtl  struct {
		nodes  workqueue.TypedRateLimitingInterface[*realNode]
		items  workqueue.TypedRateLimitingInterface[realItem]
		slow   workqueue.TypedDelayingInterface[realItem]
		plain  workqueue.TypedInterface[realItem]
		nested *realCtl
	}
)

type (
	mirrorNode struct {
		identity struct{ Kind, Name string }
	}
	mirrorItem struct {
		namespace string
		name      string
		kind      int
	}
)

func (n *mirrorNode) describe() string { return n.identity.Kind + " " + n.identity.Name }
func (i mirrorItem) describe() string  { return i.namespace + "/" + i.name }

func newRealCtl() *realCtl {
	return &realCtl{
		nodes: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[*realNode]()),
		items: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[realItem]()),
		slow:  workqueue.NewTypedDelayingQueue[realItem](),
		plain: workqueue.NewTyped[realItem](),
	}
}

func (c *realCtl) shutDown() {
	c.nodes.ShutDown()
	c.items.ShutDown()
	c.slow.ShutDown()
	c.plain.ShutDown()
}

// Every method of every flavour is called here with the real key type, on a
// decorator of the mirror type.
func TestMirrorKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, j := newRealCtl(), &journal{}
		defer c.shutDown()
		err := New(j).Attach("ctl", c,
			Of("nodes", "nodes", (*mirrorNode).describe), Of("items", "items", mirrorItem.describe),
			Of("slow", "slow", mirrorItem.describe), Of("plain", "plain", mirrorItem.describe))
		if err != nil {
			t.Fatal(err)
		}
		n := &realNode{children: map[string]int{"a": 1}}
		n.identity.Kind, n.identity.Name = "ReplicaSet", "web"
		c.nodes.AddRateLimited(n)
		time.Sleep(time.Second)
		got, _ := c.nodes.Get()
		if got != n || got.children["a"] != 1 {
			t.Errorf("got %+v", got)
		}
		equal(t, "requeues", c.nodes.NumRequeues(n), 1)
		c.nodes.Forget(n)
		c.nodes.Done(n)

		item := realItem{namespace: "shop", name: "web", kind: 7}
		c.items.Add(item)
		c.slow.AddAfter(item, time.Second)
		c.plain.Add(item)
		c.plain.Add(realItem{namespace: "shop", name: "web", kind: 8})
		for _, get := range []func() (realItem, bool){c.items.Get, c.slow.Get, c.plain.Get} {
			if got, _ := get(); got != item {
				t.Errorf("got %+v", got)
			}
		}
		c.items.Done(item)
		c.slow.Done(item)
		c.plain.Done(item)
		equal(t, "a different key by one field", c.plain.Len(), 1)
		var keys []string
		for _, e := range of[state.KeyTaken](j) {
			keys = append(keys, e.Queue+": "+e.Key)
		}
		equal(t, "keys", keys, []string{"nodes: ReplicaSet web", "items: shop/web", "slow: shop/web", "plain: shop/web"})
		c.items.ShutDownWithDrain()
		if !c.items.ShuttingDown() || c.items.Len() != 0 {
			t.Error("items is not shut down")
		}
	})
}

func TestSharedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, j := newRealCtl(), &journal{}
		defer c.shutDown()
		c.nested = &realCtl{nodes: c.nodes, items: c.items}
		tp := New(j)
		err := tp.Attach("ctl", c, Of("nodes", "nodes", (*mirrorNode).describe).Also("nested.nodes"))
		if err != nil {
			t.Fatal(err)
		}
		if c.nodes != c.nested.nodes {
			t.Error("the two fields hold different decorators")
		}
		if err := tp.Attach("ctl", c, Of("items", "items", mirrorItem.describe)); err != nil {
			t.Fatal(err)
		}
		if err := tp.Attach("other", c.nested, Of("items", "items", mirrorItem.describe)); err != nil {
			t.Fatal(err)
		}
		if c.items != c.nested.items {
			t.Error("the second target got another decorator")
		}
		equal(t, "queues", tp.Queues("ctl"), []string{"nodes", "items"})
	})
}

// A copy of a controller's struct is taken before Attach, as
// replication.NewReplicationManager copies what replicaset.NewBaseController
// returns, whose event handlers are bound to the original. A key that comes
// through the copy wakes a worker that waits in Get, and is recorded with its
// cause.
func TestAnotherHolderWakesWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, j := newRealCtl(), &journal{}
		defer c.shutDown()
		handlers := *c
		tp := New(j)
		if err := tp.Attach("ctl", c, Of("items", "items", mirrorItem.describe)); err != nil {
			t.Fatal(err)
		}
		var got []realItem
		go func() {
			for {
				item, shutdown := c.items.Get()
				if shutdown {
					return
				}
				got = append(got, item)
				c.items.Forget(item)
				c.items.Done(item)
			}
		}()
		synctest.Wait()
		now, soon, limited := realItem{name: "now"}, realItem{name: "soon"}, realItem{name: "limited"}
		handlers.items.Add(now)
		synctest.Wait()
		equal(t, "taken at once", got, []realItem{now})
		handlers.items.AddAfter(soon, time.Second)
		handlers.items.AddRateLimited(limited)
		equal(t, "requeues, by the copy", handlers.items.NumRequeues(limited), 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		equal(t, "taken", got, []realItem{now, limited, soon})
		var added []string
		for _, e := range of[state.KeyAdded](j) {
			added = append(added, e.How+" "+e.Key)
		}
		// The copy's queue asks the rate limiter itself; what arrives is the delay.
		equal(t, "added", added, []string{"Add /now", "AddAfter /soon", "AddAfter /limited"})
		equal(t, "keys left, by the copy", handlers.items.Len(), 0)
	})
}

// Attach knows an original by its address, which must not come to stand for
// another one: the garbage collector frees a queue that nobody holds any more.
func TestOriginalsKeepTheirAddresses(t *testing.T) {
	tp := New(&journal{})
	defer tp.Close()
	const controllers = 200
	for i := range controllers {
		c := newTarget()
		t.Cleanup(c.shutDown)
		name := fmt.Sprintf("ctl-%d", i)
		if err := tp.Attach(name, c, Strings("queue", "queue"), Strings("slow", "inner.slow.queue"), Strings("plain", "inner.plain")); err != nil {
			t.Fatal(err)
		}
		if got := tp.Queues(name); len(got) != 3 {
			t.Fatalf("%s has queues %q: the others got another controller's decorators", name, got)
		}
		runtime.GC()
	}
}

func TestAttachRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type short struct{ namespace string }
		type swapped struct {
			name      string
			namespace string
			kind      int
		}
		type wide struct {
			namespace string
			name      string
			kind      any
		}
		c := newRealCtl()
		defer c.shutDown()
		tp := New(&journal{})
		for _, tt := range []struct {
			target any
			spec   Spec
			want   string
		}{
			{*c, Strings("q", "nodes"), "not a pointer"},
			{(*realCtl)(nil), Strings("q", "nodes"), "not a pointer"},
			{c, Strings("q", "gone"), `no field "gone"`},
			{c, Strings("q", "nested.nodes"), `nil before "nodes"`},
			{c, Strings("q", "nodes.x.y"), "no field"},
			{c, Strings("q", "items"), "realItem is a struct, string a string"},
			{c, Of("q", "items", func(short) string { return "" }), "16"},
			{c, Of("q", "items", func(swapped) string { return "" }), "field 0 is namespace"},
			{c, Of("q", "items", func(wide) string { return "" }), "bytes"},
			{c, Of("q", "nodes", func(*mirrorItem) string { return "" }), "has 2 fields"},
			{c, Of("q", "items", mirrorItem.describe).Also("plain"), "different queues"},
			{&struct{ n int }{}, Strings("q", "n"), "holds no queue"},
		} {
			err := tp.Attach("ctl", tt.target, tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s at %v: %v, want it to say %q", tt.spec.Name(), tt.spec.paths, err, tt.want)
			}
		}
		if err := tp.Attach("ctl", c, Of("q", "plain", mirrorItem.describe)); err != nil {
			t.Fatal(err)
		}
		if err := tp.Attach("ctl", c, Of("q", "plain", mirrorItem.describe)); err == nil || !strings.Contains(err.Error(), "already attached") {
			t.Errorf("second Attach: %v", err)
		}
	})
}
