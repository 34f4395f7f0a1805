package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// told keeps what is recorded.
type told struct {
	mu     sync.Mutex
	events []state.Event
}

func (t *told) Record(e state.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
}

func (t *told) count(match func(state.Event) bool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.events {
		if match(e) {
			n++
		}
	}
	return n
}

func isGap(e state.Event) bool { g, is := e.(state.Gap); return is && g.Informer == "pods" }
func isWarning(e state.Event) bool {
	n, is := e.(state.Note)
	return is && n.Warning && strings.Contains(n.Text, "every watch of pods immediately")
}
func isRelief(e state.Event) bool {
	n, is := e.(state.Note)
	return is && !n.Warning && strings.Contains(n.Text, "watches of pods stay open again")
}

// goneServer ends every watch with 410 until it is healed.
func goneServer(t *testing.T, inStream bool) (url string, watches *atomic.Int64, heal func()) {
	t.Helper()
	watches = &atomic.Int64{}
	var healed atomic.Bool
	const gone = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("watch") == "":
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
		case healed.Load():
			watches.Add(1)
			if r.URL.Query().Get("sendInitialEvents") == "true" {
				fmt.Fprint(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
			}
			w.(http.Flusher).Flush()
			for n := 7; ; n++ { // bookmarks
				select {
				case <-time.After(100 * time.Millisecond):
					fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}}`+"\n", n)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		case inStream:
			watches.Add(1)
			fmt.Fprintf(w, `{"type":"ERROR","object":%s}`+"\n", gone)
		default:
			watches.Add(1)
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, gone)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, watches, func() { healed.Store(true) }
}

func podInformer(t *testing.T, url string, wrap func(http.RoundTripper) http.RoundTripper) {
	t.Helper()
	config := &rest.Config{Host: url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	config.Wrap(wrap)
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	factory.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30s: %s", what)
		}
	}
}

// A server that ends every watch with 410 is asked at growing intervals, and the
// journal says so; when it is healed, that too.
func TestPermanentlyGone(t *testing.T) {
	for name, inStream := range map[string]bool{"the answer is 410": false, "the first event is ERROR": true} {
		t.Run(name, func(t *testing.T) {
			url, watches, heal := goneServer(t, inStream)
			var journal told
			w := NewWatches(&journal)
			w.first = 50 * time.Millisecond
			podInformer(t, url, w.Wrap)
			began := time.Now()
			until(t, "a warning", func() bool { return journal.count(isWarning) > 0 })
			until(t, "four gaps", func() bool { return journal.count(isGap) >= 4 })
			// 0, 0, 50, 100, 200 ms… apart: without back-off there are thousands.
			took := time.Since(began)
			if most := int64(6 + took/(50*time.Millisecond)); watches.Load() > most {
				t.Errorf("%d watches in %s, want at most %d", watches.Load(), took, most)
			}
			if n := journal.count(isWarning); n != 1 {
				t.Errorf("%d warnings, want 1", n)
			}
			if got := w.Failing(); len(got) != 1 || !strings.HasPrefix(got[0], "pods (") {
				t.Errorf("failing: %q", got)
			}
			heal()
			until(t, "the word that watches last", func() bool { return journal.count(isRelief) == 1 })
			if n := len(w.streaks); n != 0 {
				t.Errorf("%d streaks are kept", n)
			}
		})
	}
}

// The tests above see a reflector's own pace: without the wrapper it is a flood.
func TestReflectorsDoNotBackOff(t *testing.T) {
	url, watches, _ := goneServer(t, false)
	podInformer(t, url, func(rt http.RoundTripper) http.RoundTripper { return rt })
	until(t, "200 watches", func() bool { return watches.Load() > 200 })
}

// One expired version is ordinary: the next watch goes at once, and nothing is said.
func TestOneExpiredVersion(t *testing.T) {
	var journal told
	w := NewWatches(&journal)
	w.ended("k", "pods", "410 Gone")
	if pause := w.pause("k"); pause != 0 || len(journal.events) > 0 {
		t.Errorf("a pause of %s, and %v", pause, journal.events)
	}
	for n, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		w.ended("k", "pods", "410 Gone")
		if pause := w.pause("k"); pause < want || pause > want+want/4+1 {
			t.Errorf("pause %d is %s, want %s and up to a quarter more", n, pause, want)
		}
	}
	if pause := w.pause("another"); pause != 0 {
		t.Errorf("another watch waits %s", pause)
	}
	w.lasted("k", "pods")
	if pause := w.pause("k"); pause != 0 {
		t.Errorf("after a watch that lasted, the next one waits %s", pause)
	}
}

func TestTypeOfPath(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods": "pods", "/api/v1/namespaces": "namespaces", "/api/v1/namespaces/shop/pods": "pods",
		"/apis/apps/v1/deployments": "deployments.apps", "/apis/apps/v1/namespaces/apis/deployments": "deployments.apps",
		"/k8s/clusters/c-1/apis/batch/v1/jobs": "jobs.batch", "/": "", "/version": "version",
	} {
		if got := typeOfPath(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
