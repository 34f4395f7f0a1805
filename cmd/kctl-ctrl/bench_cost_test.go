package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // counts the syncs of both sides

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// spent is what a stretch of work took of this process.
type spent struct {
	wall, processor time.Duration
	allocations     uint64
	syncs           int
}

// measure runs work. What it allocates on any goroutine counts.
func measure(b *testing.B, work func() (syncs int)) spent {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	processor, begin := processorTime(b), time.Now()
	syncs := work()
	s := spent{wall: time.Since(begin), processor: processorTime(b) - processor, syncs: syncs}
	runtime.ReadMemStats(&after)
	s.allocations = after.Mallocs - before.Mallocs
	return s
}

// processorTime is what this process has used of processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (s spent) syncsPerSecond() float64  { return float64(s.syncs) / s.wall.Seconds() }
func (s spent) allocationsEach() float64 { return float64(s.allocations) / float64(s.syncs) }
func (s spent) processorEach() float64   { return float64(s.processor.Microseconds()) / float64(s.syncs) }
func (s spent) String() string {
	return fmt.Sprintf("%d syncs in %v, %.0f syncs/s, %.1f µs of processor time and %.1f allocations each",
		s.syncs, s.wall.Round(time.Millisecond), s.syncsPerSecond(), s.processorEach(), s.allocationsEach())
}

// compare reports the medians of both sides, by processor time.
func compare(b *testing.B, with, without []spent) {
	b.Helper()
	w, o := medianSpent(with), medianSpent(without)
	b.ReportMetric(w.syncsPerSecond(), "syncs/s-with")
	b.ReportMetric(o.syncsPerSecond(), "syncs/s-without")
	b.ReportMetric(w.allocationsEach(), "allocs/sync-with")
	b.ReportMetric(o.allocationsEach(), "allocs/sync-without")
	b.ReportMetric(w.processorEach(), "µs-cpu/sync-with")
	b.ReportMetric(o.processorEach(), "µs-cpu/sync-without")
	b.ReportMetric(w.wall.Seconds()/float64(w.syncs)*float64(o.syncs)/o.wall.Seconds(), "time-ratio")
	b.ReportMetric(w.processorEach()/o.processorEach(), "cpu-ratio")
	for i := range with {
		b.Logf("with:    %v", with[i])
		b.Logf("without: %v", without[i])
	}
}

func medianSpent(all []spent) spent {
	var each []time.Duration
	for _, s := range all {
		each = append(each, s.wall/time.Duration(s.syncs))
	}
	m := median(each)
	for i, s := range all {
		if each[i] == m {
			return s
		}
	}
	panic("a median is one of its values")
}

// synthetic is a controller that does nothing but to write once in each sync.
type synthetic struct {
	queue  workqueue.TypedRateLimitingInterface[string]
	client kubernetes.Interface
}

// syntheticSyncs is how many syncs are measured, syntheticKeys over how many keys.
const (
	syntheticSyncs = 20_000
	syntheticKeys  = 1_000
)

// work brings n keys and runs five workers until each is synced.
func (c *synthetic) work(ctx context.Context, n int, run func(func(context.Context))) error {
	var workers sync.WaitGroup
	failed := make(chan error, 5)
	for range 5 {
		workers.Go(func() {
			run(func(context.Context) {
				for {
					key, shutDown := c.queue.Get()
					if shutDown {
						return
					}
					_, err := c.client.CoreV1().ConfigMaps("shop").Patch(ctx, key, types.MergePatchType, []byte(`{"data":{"turn":"1"}}`), metav1.PatchOptions{})
					c.queue.Forget(key)
					c.queue.Done(key)
					if err != nil {
						failed <- err
						return
					}
				}
			})
		})
	}
	for i := range n {
		c.queue.Add("web-" + strconv.Itoa(i%syntheticKeys))
		for c.queue.Len() > syntheticKeys/2 { // so that no two additions of a key become one
			runtime.Gosched()
		}
	}
	c.queue.ShutDownWithDrain()
	workers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// patched is what a server answers to each write of the synthetic controller.
const patched = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"web","uid":"2b3c","resourceVersion":"7"},"data":{"turn":"1"}}`

// atOnce is a transport without a server: a write takes no time, so that what the
// guard costs is not hidden behind one.
type atOnce struct{}

func (atOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(patched))), ContentLength: int64(len(patched)), Request: r,
	}, nil
}

// BenchmarkCost is what taps, guard and journal cost a controller that does nothing
// but write: with no server at all, which is the most they can cost, and with one on
// loopback that answers at once. Five runs of each side, interleaved.
func BenchmarkCost(b *testing.B) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, patched)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	endpoint := connect.Endpoint{URL: server.URL, CA: ca, Token: "token"}
	grant, err := guard.GrantSandbox(endpoint.URL, ca, func([]byte) bool { return true })
	if err != nil {
		b.Fatal(err)
	}
	for name, beneath := range map[string]connect.Wrap{
		"no-server": func(http.RoundTripper) http.RoundTripper { return atOnce{} },
		"loopback":  func(rt http.RoundTripper) http.RoundTripper { return rt },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var with, without []spent
				for range 5 {
					with = append(with, syntheticWith(b, endpoint, grant, beneath))
					without = append(without, syntheticWithout(b, endpoint, beneath))
				}
				compare(b, with, without)
			}
		})
	}
}

func newSynthetic(b *testing.B, endpoint connect.Endpoint, wrap connect.Wrap) *synthetic {
	b.Helper()
	config, err := connect.Server(endpoint, wrap, connect.Limits{QPS: -1})
	if err != nil {
		b.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](), workqueue.TypedRateLimitingQueueConfig[string]{Name: "synthetic"})
	return &synthetic{queue, client}
}

func syntheticWithout(b *testing.B, endpoint connect.Endpoint, beneath connect.Wrap) spent {
	b.Helper()
	c := newSynthetic(b, endpoint, beneath)
	return measure(b, func() int {
		if err := c.work(b.Context(), syntheticSyncs, func(f func(context.Context)) { f(b.Context()) }); err != nil {
			b.Fatal(err)
		}
		return syntheticSyncs
	})
}

func syntheticWith(b *testing.B, endpoint connect.Endpoint, grant guard.SandboxGrant, beneath connect.Wrap) spent {
	b.Helper()
	s, err := testEngine(b, engine.Spec{})
	if err != nil {
		b.Fatal(err)
	}
	defer engineflags.ShutDown(s, io.Discard)
	wrap, err := s.Guarded(guard.Options{Mode: state.ModeActive, Grant: grant})
	if err != nil {
		b.Fatal(err)
	}
	c := newSynthetic(b, endpoint, func(rt http.RoundTripper) http.RoundTripper { return wrap(beneath(rt)) })
	if err := s.Tap().Attach("synthetic", c, tap.Strings("synthetic", "queue")); err != nil {
		b.Fatal(err)
	}
	out := measure(b, func() int {
		if err := c.work(b.Context(), syntheticSyncs, func(f func(context.Context)) { s.Tap().Run(b.Context(), "synthetic", f) }); err != nil {
			b.Fatal(err)
		}
		s.Journal().Flush()
		return syntheticSyncs
	})
	if got := s.Journal().Snapshot().Controller("synthetic"); got == nil || got.Writes.Done != syntheticSyncs || got.Syncs != syntheticSyncs {
		b.Fatalf("the journal has %+v, want %d syncs and writes", got, syntheticSyncs)
	}
	return out
}

// BenchmarkCostFill is the same for the real loops: 200 Deployments of 10 replicas
// on a sandbox, whose API server is a process of its own and counts on no side. Three
// runs each, interleaved.
func BenchmarkCostFill(b *testing.B) {
	for b.Loop() {
		var with, without []spent
		for range 3 {
			with = append(with, costOfFill(b, (*filled).runOurs))
			without = append(without, costOfFill(b, (*filled).runBare))
		}
		compare(b, with, without)
	}
}

// costOfFill measures from before the loops start to the last pod: the first lists
// are the same on both sides.
func costOfFill(b *testing.B, run func(*filled)) spent {
	b.Helper()
	return measure(b, func() int {
		before := syncsDone(b)
		fill(b, run)
		return syncsDone(b) - before
	})
}

// syncsDone counts the keys that the queues of this process have had back.
func syncsDone(b *testing.B) (n int) {
	b.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "workqueue_work_duration_seconds" {
			for _, m := range f.GetMetric() {
				n += int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return n
}

// runBare starts the loops as runOurs does, with no tap, no guard and no journal.
func (f *filled) runBare() {
	endpoint := f.Endpoint()
	config, err := connect.Server(connect.Endpoint(endpoint), func(rt http.RoundTripper) http.RoundTripper { return rt }, connect.Limits{QPS: engine.SandboxQPS, Burst: engine.SandboxBurst})
	if err != nil {
		f.Fatal(err)
	}
	component, rootCA := f.component()
	manager, err := controllers.New(controllers.Config{Component: component, RootCA: rootCA, REST: config})
	if err != nil {
		f.Fatal(err)
	}
	if err := manager.Start(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.stop = func() { _ = manager.Stop(context.Background()) }
}
