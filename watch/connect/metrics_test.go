package connect

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

func pass(rt http.RoundTripper) http.RoundTripper { return rt }

// process stands for a controller that tells its metrics to those it knows.
type process struct {
	*httptest.Server
	mu     sync.Mutex
	tokens []string // as they arrived
	certs  int
}

// newProcess serves metrics. knows decides who gets them.
func newProcess(t *testing.T, encrypted bool, knows func(token string, certificate bool) bool) *process {
	t.Helper()
	p := &process{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		certificate := r.TLS != nil && len(r.TLS.PeerCertificates) > 0
		p.mu.Lock()
		p.tokens = append(p.tokens, token)
		if certificate {
			p.certs++
		}
		p.mu.Unlock()
		if !knows(token, certificate) {
			http.Error(w, "I do not know you\x1b[31m", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "workqueue_depth{name=\"q\"} 1\n")
	}))
	p.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	if encrypted {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

func (p *process) ca(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// dial reaches the process as a forward would: not over its URL's address.
func (p *process) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", p.Listener.Addr().String())
}

func keyPair(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "me"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// What of the user's credentials reaches whom: the table of the doc comment.
func TestWhoGetsCredentials(t *testing.T) {
	cert, key := keyPair(t)
	token := &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "secret", Username: "u", Password: "never-sent"}
	certificate := &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CertData: cert, KeyData: key}}
	anyone := func(string, bool) bool { return true }
	withCert := func(_ string, c bool) bool { return c }
	withToken := func(text string, _ bool) bool { return text == "secret" }

	for _, test := range []struct {
		name      string
		knows     func(string, bool) bool
		encrypted bool
		change    func(*process, *MetricsOptions)
		works     bool
		tokenSent bool
		withheld  bool
	}{
		{"who asks nothing gets nothing", anyone, true, func(p *process, o *MetricsOptions) { o.Credentials, o.Dial = token, p.dial }, true, false, false},
		{"a certificate comes first", withCert, true, func(p *process, o *MetricsOptions) { o.Credentials, o.Dial = certificate, p.dial }, true, false, false},
		{"a token is not sent to a certificate of its own making", withToken, true, func(p *process, o *MetricsOptions) { o.Credentials, o.Dial = token, p.dial }, false, false, true},
		{"but with --insecure-metrics", withToken, true, func(p *process, o *MetricsOptions) { o.Credentials, o.Dial, o.Insecure = token, p.dial, true }, true, true, false},
		{"or where the authority is known", withToken, true, func(p *process, o *MetricsOptions) { o.Credentials, o.Dial, o.CAFile = token, p.dial, p.ca(t) }, true, true, false},
		{"not without TLS", withToken, false, func(p *process, o *MetricsOptions) { o.Credentials, o.Dial = token, p.dial }, false, false, true},
		{"nor to another name", withToken, true, func(p *process, o *MetricsOptions) {
			o.Credentials, o.Dial, o.CAFile = token, p.dial, p.ca(t)
			o.URL = strings.Replace(o.URL, "127.0.0.1", "other.test", 1)
		}, false, false, false},
		{"a URL is verified", anyone, true, func(*process, *MetricsOptions) {}, false, false, false},
		{"a URL with its authority", anyone, true, func(p *process, o *MetricsOptions) { o.CAFile = p.ca(t) }, true, false, false},
		{"a URL taken as it is", anyone, true, func(_ *process, o *MetricsOptions) { o.Insecure = true }, true, false, false},
		{"a plain URL", anyone, false, func(*process, *MetricsOptions) {}, true, false, false},
		{"a URL that wants what we do not have", withToken, false, func(*process, *MetricsOptions) {}, false, false, false},
	} {
		p := newProcess(t, test.encrypted, test.knows)
		o := MetricsOptions{URL: p.URL + "/metrics", Wrap: pass}
		test.change(p, &o)
		client, err := Metrics(o)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		body, err := client.Get(t.Context())
		if (err == nil) != test.works || test.works && !strings.Contains(string(body), "workqueue_depth") {
			t.Errorf("%s: %q, %v", test.name, body, err)
		}
		if errors.Is(err, ErrTokenWithheld) != test.withheld {
			t.Errorf("%s: %v", test.name, err)
		}
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: the answer's text comes raw: %q", test.name, err)
		}
		if test.works { // a second reading goes the same way, without detours
			before := len(p.tokens)
			if _, err := client.Get(t.Context()); err != nil || len(p.tokens) != before+1 {
				t.Errorf("%s, again: %v, %d requests", test.name, err, len(p.tokens)-before)
			}
		}
		client.Close()
		sent := false
		for _, text := range p.tokens {
			sent = sent || text != ""
		}
		if sent != test.tokenSent {
			t.Errorf("%s: tokens %q arrived", test.name, p.tokens)
		}
	}
}

func TestMetricsIsGuardedAndBounded(t *testing.T) {
	if _, err := Metrics(MetricsOptions{URL: "http://127.0.0.1/metrics"}); !errors.Is(err, ErrNoGuard) {
		t.Errorf("without a guard: %v", err)
	}
	for _, u := range []string{"", "metrics", "ftp://127.0.0.1/", "http://", "http://user:hunter2@127.0.0.1/metrics", "http://127.0.0.1:x/"} {
		if _, err := Metrics(MetricsOptions{URL: u, Wrap: pass}); err == nil {
			t.Errorf("%q is taken", u)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is printed: %v", err)
		}
	}
	var elsewhere atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Store(true) }))
	defer other.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer redirecting.Close()
	var asked []string
	client, err := Metrics(MetricsOptions{URL: redirecting.URL, Wrap: func(rt http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.Method+" "+r.URL.Path)
			return rt.RoundTrip(r)
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var status *StatusError
	if _, err := client.Get(t.Context()); !errors.As(err, &status) || status.Code != http.StatusFound || elsewhere.Load() {
		t.Errorf("a redirect: %v, followed: %v", err, elsewhere.Load())
	}
	if fmt.Sprint(asked) != "[GET /metrics]" {
		t.Errorf("the guard saw %v", asked)
	}
}

// apiServer forwards ports as kube-apiserver and a kubelet do: SPDY, and the same
// in a WebSocket where that is on. Connections to port 1 are refused.
func apiServer(t *testing.T, target string, webSocket bool) *httptest.Server {
	t.Helper()
	var upgrade http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/api/v1/namespaces/shop/pods/web/portforward" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "not here", http.StatusForbidden)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return
		}
		problems := map[string]httpstream.Stream{}
		var mu sync.Mutex
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			mu.Lock()
			defer mu.Unlock()
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				problems[id] = s
				return nil
			}
			problem := problems[id]
			go func() {
				<-replied
				defer s.Reset()
				if s.Headers().Get(corev1.PortHeader) == "1" {
					_, _ = io.WriteString(problem, "an error occurred forwarding\nconnect: connection refused")
					_ = problem.Close()
					return
				}
				c, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer c.Close()
				go func() { _, _ = io.Copy(c, s) }()
				_, _ = io.Copy(s, c)
				_ = problem.Close()
			}()
			return nil
		})
		if connection != nil {
			<-connection.CloseChan()
		}
	})
	if webSocket {
		plain := upgrade
		kubelet := httptest.NewServer(plain)
		t.Cleanup(kubelet.Close)
		location, err := url.Parse(kubelet.URL)
		if err != nil {
			t.Fatal(err)
		}
		tunnel := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at := *location
			at.Path = r.URL.Path
			proxy.NewTunnelingHandler(utilproxy.NewUpgradeAwareHandler(&at, nil, false, true, responder{})).ServeHTTP(w, r)
		})
		upgrade = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
				tunnel.ServeHTTP(w, r)
				return
			}
			plain.ServeHTTP(w, r)
		})
	}
	s := httptest.NewTLSServer(upgrade)
	t.Cleanup(s.Close)
	return s
}

type responder struct{}

func (responder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

func TestForward(t *testing.T) {
	for _, webSocket := range []bool{true, false} {
		p := newProcess(t, true, func(string, bool) bool { return true })
		s := apiServer(t, p.Listener.Addr().String(), webSocket)
		var methods []string
		config := &rest.Config{
			Host: s.URL + "/base", BearerToken: "secret",
			TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})},
		}
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				methods = append(methods, r.Method)
				return rt.RoundTrip(r)
			})
		})
		f, err := Forward(t.Context(), config, "shop", "web", 10257)
		if err != nil {
			t.Fatalf("WebSocket %v: %v", webSocket, err)
		}
		if want := map[bool]string{true: "[GET]", false: "[GET POST]"}[webSocket]; fmt.Sprint(methods) != want {
			t.Errorf("WebSocket %v: the guard saw %v, want %s", webSocket, methods, want)
		}
		client, err := Metrics(MetricsOptions{URL: "https://localhost:10257/metrics", Wrap: pass, Dial: f.Dial, Credentials: config})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if body, err := client.Get(t.Context()); err != nil || !strings.Contains(string(body), "workqueue_depth") {
				t.Errorf("WebSocket %v: %q, %v", webSocket, body, err)
			}
		}
		client.Close()
		if err := f.Close(); err != nil {
			t.Errorf("WebSocket %v: close: %v", webSocket, err)
		}
		for _, text := range p.tokens {
			if text != "" {
				t.Errorf("WebSocket %v: the token went to the pod", webSocket)
			}
		}

		refused, err := Forward(t.Context(), config, "shop", "web", 1)
		if err != nil {
			t.Fatal(err)
		}
		client, err = Metrics(MetricsOptions{URL: "http://localhost:1/metrics", Wrap: pass, Dial: refused.Dial})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("WebSocket %v: a port where nobody listens: %v", webSocket, err)
		}
		client.Close()
		_ = refused.Close()
		if _, err := Forward(t.Context(), config, "shop", "db", 1); err == nil || !strings.Contains(err.Error(), "not here") {
			t.Errorf("WebSocket %v: a pod that may not be forwarded to: %v", webSocket, err)
		}
	}
}

// A server that does not answer is not waited for longer than the context lasts.
func TestForwardGivesUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Forward(ctx, &rest.Config{Host: "http://" + silent.Addr().String()}, "shop", "web", 1)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
