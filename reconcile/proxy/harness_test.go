package proxy_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// serversToken is what the API server of the tests wants to see.
const serversToken = "the-users-own"

// journal collects what is recorded.
type journal struct {
	mu      sync.Mutex
	events  []state.Event
	changed sync.Cond
}

func newJournal() *journal {
	j := &journal{}
	j.changed.L = &j.mu
	return j
}

func (j *journal) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
	j.changed.Broadcast()
}

// await returns when the events satisfy a condition.
func (j *journal) await(done func() bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !done() {
		j.changed.Wait()
	}
}

func of[E state.Event](j *journal) []E {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []E
	for _, e := range j.events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// api is an API server that remembers what arrives. It speaks HTTP/2, as the
// real one does.
type api struct {
	*httptest.Server
	mu       sync.Mutex
	arrivals []*http.Request
}

func newAPI(t *testing.T, handler http.HandlerFunc) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.arrivals = append(a.arrivals, r.Clone(t.Context()))
		a.mu.Unlock()
		handler(w, r)
	}))
	a.EnableHTTP2 = true
	a.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.StartTLS()
	t.Cleanup(a.Close)
	return a
}

func (a *api) seen() []*http.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.arrivals
}

// authorized adds the user's credentials, as client-go does outside the guard.
func authorized(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") == "" {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+serversToken)
		}
		return rt.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// start puts a proxy with a guard in that mode before an API server.
func start(t *testing.T, a *api, mode state.Mode, change func(*proxy.Options)) (*proxy.Proxy, *journal) {
	t.Helper()
	j := newJournal()
	return startRecorded(t, a, mode, j, nil, change), j
}

// startWith is start with a journal and deletions that the guard and the proxy share.
func startWith(t *testing.T, a *api, mode state.Mode, j *journal, deletions *proxy.Deletions) *proxy.Proxy {
	t.Helper()
	return startRecorded(t, a, mode, j, deletions.Wrote, func(o *proxy.Options) { o.Deletions = deletions })
}

func startRecorded(t *testing.T, a *api, mode state.Mode, j *journal, onWrite func(state.WriteFinished), change func(*proxy.Options)) *proxy.Proxy {
	t.Helper()
	clients := proxy.NewClients(nil)
	options := guard.Options{Mode: mode, Server: a.URL, Recorder: j, Writer: clients.Of, Local: proxy.NewLeases(j, nil), OnWrite: onWrite}
	if mode == state.ModeActive {
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
		grant, err := guard.GrantSandbox(a.URL, ca, func(of []byte) bool { return bytes.Equal(of, ca) })
		if err != nil {
			t.Fatal(err)
		}
		options.Grant = grant
	}
	g, err := guard.New(options)
	if err != nil {
		t.Fatal(err)
	}
	o := proxy.Options{Upstream: authorized(g.Wrap(a.Client().Transport)), Server: a.URL, Clients: clients, Recorder: j}
	if change != nil {
		change(&o)
	}
	p, err := proxy.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func configFor(p *proxy.Proxy) *rest.Config {
	ep := p.Endpoint()
	return &rest.Config{Host: ep.URL, BearerToken: ep.Token, UserAgent: "operator/v1.2.3 (linux/amd64)", QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ep.CA}}
}

func clientOf(t *testing.T, p *proxy.Proxy) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(configFor(p))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// httpClient trusts the proxy and has no token.
func httpClient(t *testing.T, p *proxy.Proxy) *http.Client {
	t.Helper()
	config := configFor(p)
	config.BearerToken = ""
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func writeJSON(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

const notFound = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`
