package proxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Without the token of the run nobody is let in, nothing is passed on, and the
// token itself goes no further.
func TestToken(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`)
	})
	open, _ := start(t, a, state.ModeDryRunClient, nil)
	if let := strangersLetIn(t, open, withToken(open)); len(let) != 7 || len(a.seen()) == 0 {
		t.Errorf("a proxy before which everybody is given the token lets in %q, and passes on %d: the test cannot see that it does", let, len(a.seen()))
	}
	before := len(a.seen())
	p, j := start(t, a, state.ModeDryRunClient, nil)
	if let := strangersLetIn(t, p, nil); len(let) != 0 {
		t.Errorf("let in: %q", let)
	}
	if passed := a.seen()[before:]; len(passed) != 0 {
		t.Errorf("the server was asked without the token: %v", passed)
	}
	if notes := of[state.Note](j); len(notes) != 1 || !notes[0].Warning {
		t.Errorf("seven requests without a token are noted as %v", notes)
	}
	if _, err := clientOf(t, p).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("with the token: %v", err)
	}
	for _, r := range a.seen()[before:] {
		if got := r.Header.Values("Authorization"); !slices.Equal(got, []string{"Bearer " + serversToken}) {
			t.Errorf("the server saw the credentials %q", got)
		}
	}
	if err := clientOf(t, p).CoreV1().RESTClient().Get().AbsPath("/api/v1/pods").Do(t.Context()).Error(); err != nil {
		t.Error(err)
	}
}

// withToken gives every request the token of a proxy on its way there.
func withToken(p *proxy.Proxy) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+p.Endpoint().Token)
			return next.RoundTrip(r)
		})
	}
}

// strangersLetIn are those without the token who get another answer than 401; way is
// what their requests go through, or nil.
func strangersLetIn(t *testing.T, p *proxy.Proxy, way func(http.RoundTripper) http.RoundTripper) (let []string) {
	t.Helper()
	right := p.Endpoint().Token
	for name, header := range map[string]string{
		"none": "", "wrong": "Bearer " + strings.Repeat("A", len(right)), "shorter": "Bearer " + right[:len(right)-1], "longer": "Bearer " + right + "A",
		"another scheme": "Basic " + right, "empty": "Bearer ", "the server's": "Bearer " + serversToken,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Endpoint().URL+"/api/v1/pods", nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		client := httpClient(t, p)
		if way != nil {
			client.Transport = way(client.Transport)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
			let = append(let, name)
		}
	}
	return let
}

// A watch's first event is read while the server still holds the answer open, and
// before it has sent another byte; its headers come before the first event.
func TestWatchIsNotBuffered(t *testing.T) {
	for _, path := range []string{"watch through client-go", "HTTP/1.1"} {
		t.Run(path, func(t *testing.T) {
			send := make(chan string)
			a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_ = http.NewResponseController(w).Flush()
				for {
					select {
					case line := <-send:
						_, _ = io.WriteString(w, line)
						_ = http.NewResponseController(w).Flush()
					case <-r.Context().Done():
						return
					}
				}
			})
			p, _ := start(t, a, state.ModeDryRunClient, nil)
			event := func(n int) string {
				return fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p%d"}}}`+"\n", n)
			}
			if path == "HTTP/1.1" {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Endpoint().URL+"/api/v1/pods?watch=true", nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+p.Endpoint().Token)
				resp, err := oldClient(t, p).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if resp.ProtoMajor != 1 {
					t.Fatalf("it is HTTP/%d", resp.ProtoMajor)
				}
				lines := bufio.NewReader(resp.Body)
				for n := range 3 {
					send <- event(n)
					if line, err := lines.ReadString('\n'); err != nil || line != event(n) {
						t.Fatalf("event %d: %q, %v", n, line, err)
					}
				}
				return
			}
			w, err := clientOf(t, p).CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			for n := range 3 {
				send <- event(n)
				if got := <-w.ResultChan(); got.Object.(*corev1.Pod).Name != fmt.Sprintf("p%d", n) {
					t.Fatalf("event %d is %v", n, got)
				}
			}
		})
	}
}

func oldClient(t *testing.T, p *proxy.Proxy) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.Endpoint().CA)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}}
}

// When the client goes, so does its watch on the server.
func TestWatchEndsWithItsClient(t *testing.T) {
	ended := make(chan struct{})
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	})
	p, _ := start(t, a, state.ModeDryRunClient, nil)
	w, err := clientOf(t, p).CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	<-ended
}

// Upgrades are refused in every mode, with the token too, whatever asks for them.
func TestUpgradesAreRefused(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for _, mode := range []state.Mode{state.ModeReadOnly, state.ModeDryRunClient, state.ModeDryRunServer, state.ModeActive} {
		p, j := start(t, a, mode, nil)
		for _, test := range []struct{ method, path, upgrade string }{
			{http.MethodGet, "/api/v1/namespaces/a/pods/p/exec?command=id", "websocket"},
			{http.MethodPost, "/api/v1/namespaces/a/pods/p/exec?command=id", "SPDY/3.1"},
			{http.MethodGet, "/api/v1/namespaces/a/pods/p/attach", "websocket"},
			{http.MethodPost, "/api/v1/namespaces/a/pods/p/portforward", "SPDY/3.1"},
			{http.MethodGet, "/api/v1/pods?watch=true", "websocket"},
			{http.MethodGet, "/api/v1/namespaces/a/pods/p/exec?command=id", ""},
		} {
			req, err := http.NewRequestWithContext(t.Context(), test.method, p.Endpoint().URL+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+p.Endpoint().Token)
			if test.upgrade != "" {
				req.Header.Set("Connection", "Upgrade")
				req.Header.Set("Upgrade", test.upgrade)
			}
			resp, err := oldClient(t, p).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s to %q in %s: %d, want 403", test.method, test.path, test.upgrade, mode, resp.StatusCode)
			}
		}
		if got := len(of[state.Note](j)) + len(of[state.WriteFinished](j)); got != 6 {
			t.Errorf("%s: %d of 6 refusals are recorded", mode, got)
		}
	}
	if len(a.seen()) != 0 {
		t.Errorf("the server was asked: %v", a.seen())
	}
}

// Even a transport that lets an upgrade through gets none carried.
func TestNoProtocolIsSwitched(t *testing.T) {
	for _, broken := range []bool{false, true} {
		a := newAPI(t, func(http.ResponseWriter, *http.Request) {})
		ours, theirs := net.Pipe()
		defer theirs.Close()
		switches := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, Body: ours, Request: r}, nil
		})
		p, _ := start(t, a, state.ModeDryRunClient, func(o *proxy.Options) { o.Upstream = switches })
		client, to := oldClient(t, p), p.Endpoint().URL
		if broken { // a proxy that carries what it is given
			plain := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: switches})
			defer plain.Close()
			client, to = plain.Client(), plain.URL
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to+"/api/v1/namespaces/a/pods/p/exec", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + p.Endpoint().Token}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want := map[bool]int{false: http.StatusServiceUnavailable, true: http.StatusSwitchingProtocols}[broken]; resp.StatusCode != want {
			t.Errorf("broken %v: got %d, want %d", broken, resp.StatusCode, want)
		}
	}
}

// A write is answered by the guard, recorded under the client's name, and its
// body reaches the guard whole, also one without a length.
func TestWritesPassTheGuard(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusNotFound, notFound) })
	p, j := start(t, a, state.ModeDryRunClient, nil)
	made, err := clientOf(t, p).CoreV1().ConfigMaps("a").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}, metav1.CreateOptions{})
	if err != nil || !strings.HasPrefix(made.Name, "x-") || made.UID == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	chunked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Endpoint().URL+"/api/v1/namespaces/a/configmaps",
		io.MultiReader(strings.NewReader(`{"kind":"ConfigMap","apiVersion":"v1",`), strings.NewReader(`"metadata":{"name":"y"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	chunked.Header.Set("Authorization", "Bearer "+p.Endpoint().Token)
	resp, err := oldClient(t, p).Do(chunked)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("a body without a length: %d", resp.StatusCode)
	}
	big := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "big"}, Data: map[string]string{"k": strings.Repeat("x", 4<<20)}}
	if _, err := clientOf(t, p).CoreV1().ConfigMaps("a").Create(t.Context(), big, metav1.CreateOptions{}); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("a body of 4 MiB: %v", err)
	}
	if len(a.seen()) != 0 {
		t.Errorf("a write left: %v", a.seen())
	}
	writes := of[state.WriteFinished](j)
	if len(writes) != 2 || writes[0].Controller != "operator" || writes[1].Controller != "Go-http-client" || writes[0].Object.Name != made.Name || writes[1].Object.Name != "y" {
		t.Errorf("the record is %+v", writes)
	}
}

// What a client says of other users: front proxies' words go, impersonation
// stays, unless the proxy's own user is acting as another one already.
func TestHeadersOfUsers(t *testing.T) {
	for _, impersonates := range []bool{false, true} {
		for _, broken := range []bool{false, true} {
			a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, `{"gitVersion":"v1.37.1"}`) })
			p, _ := start(t, a, state.ModeReadOnly, func(o *proxy.Options) {
				if o.Impersonates = impersonates; broken {
					o.Upstream = renamed(o.Upstream, smuggled, "")
				}
			})
			client := httpClient(t, p)
			if broken {
				client.Transport = renamed(client.Transport, "", smuggled)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Endpoint().URL+"/version", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Authorization": {"Bearer " + p.Endpoint().Token}, "X-Remote-User": {"admin"}, "X-Remote-Extra-A": {"b"}, "Impersonate-User": {"jane"}}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			arrived := a.seen()
			kept := resp.StatusCode == http.StatusForbidden && len(arrived) == 0 // where it impersonates
			if !impersonates {
				kept = len(arrived) == 1 && arrived[0].Header.Get("Impersonate-User") == "jane" && arrived[0].Header.Get("X-Remote-User")+arrived[0].Header.Get("X-Remote-Extra-A") == ""
			}
			if kept == broken {
				t.Errorf("impersonates %v, broken %v: %d, the server saw %v", impersonates, broken, resp.StatusCode, arrived)
			}
		}
	}
}

// smuggled begins the names under which headers go past a proxy unseen.
const smuggled = "Smuggled-"

// renamed gives the headers of users another beginning.
func renamed(next http.RoundTripper, from, to string) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		for name, values := range r.Header.Clone() {
			if rest, ok := strings.CutPrefix(name, from); ok && (strings.HasPrefix(rest, "X-Remote-") || strings.HasPrefix(rest, "Impersonate-")) {
				r.Header.Del(name)
				r.Header[to+rest] = values
			}
		}
		return next.RoundTrip(r)
	})
}

// A server below a path stays there, and a server that is gone is a Status.
func TestServerBelowAPathAndGone(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, `{"gitVersion":"v1.37.1"}`) })
	g, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: a.URL, BasePath: "/k8s/c-1"})
	if err != nil {
		t.Fatal(err)
	}
	p, j := start(t, a, state.ModeReadOnly, func(o *proxy.Options) {
		o.Server, o.Upstream = a.URL+"/k8s/c-1", authorized(g.Wrap(a.Client().Transport))
	})
	if v, err := clientOf(t, p).Discovery().ServerVersion(); err != nil || v.GitVersion != "v1.37.1" {
		t.Errorf("%v, %v", v, err)
	}
	if got := a.seen()[0].URL.Path; got != "/k8s/c-1/version" {
		t.Errorf("the server was asked for %s", got)
	}
	a.Close()
	_, err = clientOf(t, p).Discovery().ServerVersion()
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("without a server: %v", err)
	}
	reads := of[state.ClientRead](j)
	if len(reads) != 2 || reads[0].Status != 200 || reads[1].Status != 0 || reads[1].Message == "" {
		t.Errorf("recorded %+v", reads)
	}
}

// The kubeconfig is one that client-go reads, with any namespace.
func TestKubeconfig(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, `{"gitVersion":"v1.37.1"}`) })
	p, _ := start(t, a, state.ModeReadOnly, nil)
	for _, namespace := range []string{"", "shop", `odd"}: #`} {
		loader, err := clientcmd.NewClientConfigFromBytes(p.Kubeconfig(namespace))
		if err != nil {
			t.Fatal(err)
		}
		config, err := loader.ClientConfig()
		if err != nil || config.Host != p.Endpoint().URL || config.BearerToken != p.Endpoint().Token || string(config.CAData) != string(p.Endpoint().CA) {
			t.Errorf("%q: %v, %v", namespace, config, err)
		}
		raw, err := loader.RawConfig()
		if err != nil || raw.Contexts[proxy.ContextName].Namespace != namespace {
			t.Errorf("%q: %v, %v", namespace, raw.Contexts, err)
		}
	}
}
