//go:build soak

package engine

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
)

var (
	soakFor    = flag.Duration("soak.for", 30*time.Minute, "how long TestSoak goes on")
	soakWarmUp = flag.Duration("soak.warm-up", 10*time.Minute, "from when on the slope counts: the rings and tables of the journal are full by then")
)

// soakRate is how many changes are made in a second, soakSlope the most that memory
// may grow by in a minute after the warm-up, in MiB.
const (
	soakRate  = 20
	soakSlope = 1.0
)

// sample is the memory at a time since the start.
type sample struct {
	at             time.Duration
	heap, resident float64 // MiB; what lives after a collection, and the process
	goroutines     int
}

// TestSoak changes the scale of Deployments for half an hour, on a sandbox with all
// loops, nodes and the scheduler, and has memory stay where it is.
func TestSoak(t *testing.T) {
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, Spec{Controllers: options, Sandbox: &Sandbox{Nodes: 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer stopEngine(t, s)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	names := soakDeployments(t, client)

	ctx, cancel := context.WithTimeout(t.Context(), *soakFor)
	defer cancel()
	changes := 0
	var failed atomic.Int64
	var changing sync.WaitGroup
	defer changing.Wait()
	defer cancel()
	room := make(chan struct{}, soakRate) // on a busy machine an answer takes longer than 1/soakRate
	samples := []sample{}
	began := time.Now()
	change, look := time.NewTicker(time.Second/soakRate), time.NewTicker(max(*soakFor/60, time.Second))
	defer change.Stop()
	defer look.Stop()
	for ctx.Err() == nil {
		select {
		case <-change.C:
			name, patch := names[changes%len(names)], fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, changes/len(names)%4)
			select {
			case room <- struct{}{}:
			default:
				continue
			}
			changes++
			changing.Go(func() {
				defer func() { <-room }()
				if _, err := client.AppsV1().Deployments("default").Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
					failed.Add(1)
				}
			})
		case <-look.C:
			samples = append(samples, takeSample(t, time.Since(began)))
			last := samples[len(samples)-1]
			snap := s.Journal().Snapshot()
			t.Logf("%7s  %6d changes, %d failed  heap %.1f MiB, resident %.0f MiB, %d goroutines; entry %d, %d keys",
				last.at.Round(time.Second), changes, failed.Load(), last.heap, last.resident, last.goroutines, snap.Seq, snap.Keys.Len()+snap.Done.Len())
		case <-ctx.Done():
		}
	}
	if n := failed.Load(); int(n) > changes/100 {
		t.Errorf("%d of %d changes failed", n, changes)
	}
	slope := slopePerMinute(samples, *soakWarmUp, func(s sample) float64 { return s.heap })
	t.Logf("%d changes in %s, %.1f a second; after %s the heap grows by %.3f MiB a minute, the process by %.3f", changes, *soakFor,
		float64(changes)/soakFor.Seconds(), *soakWarmUp, slope, slopePerMinute(samples, *soakWarmUp, func(s sample) float64 { return s.resident }))
	if slope > soakSlope {
		t.Errorf("the heap grows by %.2f MiB a minute, more than %.2f", slope, soakSlope)
	}
	if first, last := samples[len(samples)/3], samples[len(samples)-1]; last.goroutines > first.goroutines+50 {
		t.Errorf("goroutines: %d, and %d at the end", first.goroutines, last.goroutines)
	}
}

func soakDeployments(t *testing.T, client kubernetes.Interface) (names []string) {
	t.Helper()
	for i := range 10 {
		name := fmt.Sprintf("web-%d", i)
		labels := map[string]string{"app": name}
		_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func takeSample(t *testing.T, at time.Duration) sample {
	t.Helper()
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return sample{at: at, heap: float64(m.HeapAlloc) / (1 << 20), resident: resident(), goroutines: runtime.NumGoroutine()}
}

// resident is the memory of this process in MiB, zero where the system does not tell.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}

// slopePerMinute is that of the line with the least squares through the samples from
// a time on.
func slopePerMinute(samples []sample, from time.Duration, value func(sample) float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, s := range samples {
		if s.at < from {
			continue
		}
		x, y := s.at.Minutes(), value(s)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if d := n*sxx - sx*sx; d != 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}
