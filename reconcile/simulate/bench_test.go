package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
)

// BenchmarkPods measures how fast bound pods run: b.N pods, made eight at a time
// and scheduled by the real scheduler.
//
//	bind-to-run-p50-ms, -p99-ms  between the watch events of both, per pod
//	pods/s                       from the first create until all run
//	idle-ms                      from the last pod's running until Busy is empty
//
// Run it with -benchtime=500x: a figure for one pod says little.
func BenchmarkPods(b *testing.B) {
	w := start(b, simulate.Options{Nodes: 3, Scheduler: true, Storage: true, Capacity: corev1.ResourceList{
		corev1.ResourcePods: resource.MustParse("100k"),
	}})
	eventually(b, "nodes", func() string { return strings.Join(w.cluster.Busy(), "; ") })
	seen := make(chan *corev1.Pod, 4*b.N)
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, obj any) { seen <- obj.(*corev1.Pod) },
	}); err != nil {
		b.Fatal(err)
	}
	ctx := quiet(b)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	b.ResetTimer()
	began := time.Now()
	var creates errgroup.Group
	creates.SetLimit(8)
	go func() {
		for i := range b.N {
			creates.Go(func() error {
				_, err := w.client.CoreV1().Pods(w.namespace).Create(ctx, newPod(fmt.Sprintf("p%d-%d", b.N, i)), metav1.CreateOptions{})
				return err
			})
		}
	}()
	bound := map[types.UID]time.Time{}
	var took []time.Duration
	timeout := time.After(2 * time.Minute)
	for len(took) < b.N {
		select {
		case pod := <-seen:
			at, known := bound[pod.UID]
			switch {
			case pod.Spec.NodeName != "" && !known:
				bound[pod.UID] = time.Now()
			case pod.Status.Phase == corev1.PodRunning && !at.IsZero():
				took = append(took, time.Since(at))
				bound[pod.UID] = time.Time{}
			}
		case <-timeout:
			b.Fatalf("%d of %d pods run; busy: %v", len(took), b.N, w.cluster.Busy())
		}
	}
	elapsed := time.Since(began)
	eventually(b, "rest", func() string { return strings.Join(w.cluster.Busy(), "; ") })
	idle := time.Since(began) - elapsed
	b.StopTimer()
	if err := creates.Wait(); err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), "bind-to-run-p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "bind-to-run-p99-ms")
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "pods/s")
	b.ReportMetric(ms(idle), "idle-ms")
}

// BenchmarkStart measures what the simulation adds to a sandbox's start: until
// Start returns, and until the nodes are ready.
func BenchmarkStart(b *testing.B) {
	cfg := config(b)
	var up, ready time.Duration
	for b.Loop() {
		began := time.Now()
		cluster, err := simulate.Start(quiet(b), simulate.Options{Config: cfg, Nodes: 3, Scheduler: true, Storage: true})
		if err != nil {
			b.Fatal(err)
		}
		up += time.Since(began)
		eventually(b, "ready", func() string { return strings.Join(cluster.Busy(), "; ") })
		ready += time.Since(began)
		cluster.Stop()
		cluster.Wait()
	}
	b.ReportMetric(float64(up.Milliseconds())/float64(b.N), "up-ms")
	b.ReportMetric(float64(ready.Milliseconds())/float64(b.N), "idle-ms")
}
