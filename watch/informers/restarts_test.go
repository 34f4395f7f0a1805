package informers

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// restarted is how often the default tests restart the API server.
var restarted = 2

// TestRestartingServer restarts an API server under load, in turn as by SIGTERM (watches
// end in order, new connections are refused) and as by SIGKILL (connections break, also
// in the middle of a list or a watch event). After each restart an informer of the TUI
// and one as the controllers have it must equal the server within client-go's back-off;
// at the end nothing of either may be left running.
func TestRestartingServer(t *testing.T) {
	const objects = 300
	var seed []object
	for i := range objects {
		seed = append(seed, pod("shop", fmt.Sprintf("web-%d", i)))
	}
	s := newServer(t, seed...)
	s.change(func() { s.frank = true })
	runtime.GC()
	before := goroutines()

	set, err := New(s.config(), Options{Recorder: &journal{}, Heartbeat: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	handle := open(t, set, pods, Metadata)
	t.Cleanup(func() {
		if t.Failed() {
			stats := handle.Stats()
			t.Logf("the TUI's informer: %+v, contact %+v; the server asked last: %q", stats, set.Contact(), s.lastRequests(6))
		}
	})
	config := s.config()
	config.ContentType = "application/json"
	config.Wrap(connect.NewWatches(nil).Wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	shared := factory.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)

	equal := func() bool {
		return maps.Equal(held(t, handle), s.versions()) && maps.Equal(heldBy(shared), s.versions())
	}
	until(t, "the caches are filled", equal)
	var slowest, slowestOurs time.Duration
	for i := range restarted {
		stop := load(s, i)
		if i%2 == 0 {
			s.terminate()
		} else {
			s.stop()
		}
		s.set("MODIFIED", pod("shop", "web-1", labelled("while", "down")))
		s.set("DELETED", pod("shop", fmt.Sprintf("web-%d", objects-1-i)))
		if i%3 == 2 {
			s.forget() // as after a compaction: the versions that the caches know are gone
		}
		s.restart()
		stop()
		began := time.Now()
		// client-go's reflector pauses up to 30 s, doubled at random, after failures that
		// come within two minutes of each other, as kube-controller-manager's do.
		within(t, 90*time.Second, fmt.Sprintf("the TUI's cache equals the server after restart %d", i+1), func() bool { return maps.Equal(held(t, handle), s.versions()) })
		ours := time.Since(began)
		within(t, 90*time.Second, fmt.Sprintf("the controllers' cache equals the server after restart %d", i+1), equal)
		slowest = max(slowest, time.Since(began))
		// A reflector takes a watch that brought nothing within a second for a failure.
		s.set("MODIFIED", pod("shop", "web-2", labelled("after", fmt.Sprint(i))))
		within(t, 90*time.Second, fmt.Sprintf("the caches follow after restart %d", i+1), equal)
		slowestOurs = max(slowestOurs, ours)
	}
	t.Logf("%d restarts, the slowest until the TUI's cache was equal: %s, the controllers': %s", restarted, slowestOurs.Round(time.Millisecond), slowest.Round(time.Millisecond))

	handle.Close()
	set.Close()
	cancel()
	factory.Shutdown()
	s.stop()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	until(t, fmt.Sprintf("at most %d goroutines are left", before), func() bool { return goroutines() <= before })
}

// load changes objects until it is stopped, and waits for its end.
func load(s *apiServer, round int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			s.set("MODIFIED", pod("shop", fmt.Sprintf("web-%d", n%100), labelled("round", fmt.Sprint(round), "n", fmt.Sprint(n))))
			runtime.Gosched()
			time.Sleep(100 * time.Microsecond)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// terminate ends the server as SIGTERM does.
func (s *apiServer) terminate() {
	s.mu.Lock()
	server := s.http
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // watches do not end by themselves
	}
}

func (s *apiServer) lastRequests(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests[max(0, len(s.requests)-n):])
}

// versions are the objects of the server with their versions.
func (s *apiServer) versions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for key, o := range s.objects {
		out[key] = o["metadata"].(object)["resourceVersion"].(string)
	}
	return out
}

func held(t *testing.T, h *Handle) map[string]string {
	t.Helper()
	w, err := h.Window(Query{}, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range w.Rows {
		out[r.Key()] = r.ResourceVersion
	}
	return out
}

func heldBy(informer cache.SharedIndexInformer) map[string]string {
	out := map[string]string{}
	for _, o := range informer.GetStore().List() {
		m := o.(interface {
			GetNamespace() string
			GetName() string
			GetResourceVersion() string
		})
		out[m.GetNamespace()+"/"+m.GetName()] = m.GetResourceVersion()
	}
	return out
}

// goroutines counts those that are not the test's own, or its server's connections.
func goroutines() int {
	stacks := make([]byte, 4<<20)
	all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	return len(slices.DeleteFunc(all, func(stack string) bool {
		return strings.Contains(stack, "testing.") || strings.Contains(stack, "net/http.(*conn).serve") || strings.Contains(stack, "net/http.(*Server).Serve") || strings.Contains(stack, "net/http.(*connReader)")
	}))
}
