package connect

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// restarting is the transport to an API server of one pod that goes and comes back.
// Then versions from before have expired, as with kube-apiserver, whose watch cache
// begins anew.
type restarting struct {
	mu      sync.Mutex
	down    bool
	version int
	watches []*io.PipeWriter
}

func (s *restarting) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	answer := func(code int, body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
	}
	text := func(code int, format string, args ...any) (*http.Response, error) {
		return answer(code, io.NopCloser(strings.NewReader(fmt.Sprintf(format, args...))))
	}
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") != "":
		return text(400, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`)
	case query.Get("watch") == "":
		return text(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[{"metadata":{"namespace":"a","name":"p","resourceVersion":"%d"}}]}`, s.version, s.version)
	case query.Get("resourceVersion") != fmt.Sprint(s.version):
		return text(410, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
	}
	body, events := io.Pipe()
	s.watches = append(s.watches, events)
	context.AfterFunc(r.Context(), func() { _ = events.Close() })
	return answer(200, body)
}

// stop ends the server, and start begins another with a later version.
func (s *restarting) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	for _, events := range s.watches {
		_ = events.Close()
	}
	s.watches = nil
}

func (s *restarting) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
	s.version++
}

// After an absence of the API server, a cache equals the server's list within seconds of
// its return, however long that was. client-go alone takes up to a minute: it has backed
// off before, and backs off more when it hears that its version has expired.
func TestCachesAfterAnAbsence(t *testing.T) {
	const bound = 10 * time.Second
	var slowest [2]time.Duration
	for round := range 20 {
		for i, wrap := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				slowest[i] = max(slowest[i], absentFor(t, time.Duration(20+5*round)*time.Second, wrap))
			})
		}
	}
	t.Logf("at most %s, and %s with client-go alone", slowest[0], slowest[1])
	if slowest[0] > bound {
		t.Errorf("it took %s, want at most %s", slowest[0], bound)
	}
	if slowest[1] <= bound {
		t.Errorf("client-go alone takes %s: this test sees nothing", slowest[1])
	}
}

// absentFor gives the time from the server's return until the cache equals its list.
func absentFor(t *testing.T, absence time.Duration, wrap bool) time.Duration {
	var journal told
	server := &restarting{version: 1}
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: server, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	if wrap {
		config.Wrap(NewWatches(&journal).Wrap)
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	pods := factory.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer cancel()
	equals := func() time.Duration {
		began := time.Now()
		for {
			server.mu.Lock()
			want := fmt.Sprint(server.version)
			server.mu.Unlock()
			if pods.LastSyncResourceVersion() == want {
				return time.Since(began)
			}
			time.Sleep(10 * time.Millisecond) // of the test's clock
		}
	}
	equals()
	time.Sleep(time.Minute)
	server.stop()
	time.Sleep(absence)
	server.start()
	took := equals()
	said := func(warning bool, text string) int {
		return journal.count(func(e state.Event) bool {
			n, is := e.(state.Note)
			return is && n.Warning == warning && strings.Contains(n.Text, text)
		})
	}
	if gone, back := said(true, "is unreachable"), said(false, "is reachable again after "); wrap && (gone != 1 || back != 1) {
		t.Errorf("the journal has %d notes of the absence and %d of its end", gone, back)
	}
	return took
}

// What is not a reflector's is answered at once, and who gives up is not held.
func TestOthersDoNotWait(t *testing.T) {
	server := &restarting{down: true}
	transport := NewWatches(nil).Wrap(server)
	for name, c := range map[string]struct{ method, url string }{
		"a get":   {http.MethodGet, "http://server/api/v1/namespaces/a/pods/p"},
		"a list":  {http.MethodGet, "http://server/api/v1/pods?limit=500"},
		"a write": {http.MethodPost, "http://server/api/v1/namespaces/a/pods?resourceVersion=1"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := transport.RoundTrip(r); err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/api/v1/pods?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := transport.RoundTrip(r); err == nil {
		_ = answer.Body.Close()
		t.Error("a watch that is given up: no error")
	}
}
