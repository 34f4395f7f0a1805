package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/internal/authority"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// maxBody is kube-apiserver's default limit for a body (k8s.io/apiserver v0.37.1
	// pkg/server/config.go MaxRequestBodyBytes).
	maxBody = 3 << 20
	// maxPath is far above the longest path of the API.
	maxPath = 4096
	// closeWithin is how long requests in flight have to end.
	closeWithin = 500 * time.Millisecond
)

// Options configure a Proxy. All but Deletions, Impersonates and Now are
// required.
type Options struct {
	// Upstream sends requests to the API server with the user's credentials, through
	// the guard.
	Upstream http.RoundTripper
	// Server is the API server's address, including its path prefix.
	Server string
	// Clients names the sender of a request; the guard must use the same.
	Clients *Clients
	// Recorder receives the reads.
	Recorder state.Recorder
	// Deletions receives the reads in a dry run.
	Deletions *Deletions
	// Impersonates: Upstream impersonates a user. Clients may not impersonate then,
	// because they would replace that user.
	Impersonates bool
	// Now is the clock of certificates; time.Now by default.
	Now func() time.Time
}

// Endpoint is the address of a Proxy and its credentials.
type Endpoint struct {
	URL   string
	CA    []byte // PEM
	Token string
}

// Proxy is a listening proxy.
type Proxy struct {
	options  Options
	target   *url.URL
	endpoint Endpoint
	secret   [sha256.Size]byte
	reverse  *httputil.ReverseProxy
	reads    *reads
	refused  atomic.Uint64

	server *http.Server
	cancel context.CancelFunc
	done   chan struct{}
}

// Start listens until Close.
func Start(o Options) (*Proxy, error) {
	if o.Upstream == nil || o.Clients == nil || o.Recorder == nil {
		return nil, errors.New("start the proxy: transport, recorder and client names are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	target, err := url.Parse(o.Server)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("start the proxy: %q is not a valid API server address", o.Server)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p := &Proxy{
		options: o, target: target, done: make(chan struct{}),
		reads: &reads{recorder: o.Recorder, kinds: map[readKind]*readCount{}},
	}
	p.endpoint = Endpoint{URL: "https://" + listener.Addr().String(), Token: rand.Text()}
	p.secret = sha256.Sum256([]byte(p.endpoint.Token))
	certificate, err := p.certificate()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.reverse = &httputil.ReverseProxy{
		Transport:     roundTripper(p.roundTrip),
		FlushInterval: -1, // at once: a watch is a stream
		Rewrite:       p.rewrite,
		ErrorHandler:  p.unreachable,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.server = &http.Server{
		Handler:           p,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(p.done)
		_ = p.server.ServeTLS(listener, "", "") // until Close
	}()
	return p, nil
}

// certificate creates the serving certificate and the authority that signs it.
func (p *Proxy) certificate() (tls.Certificate, error) {
	now := p.options.Now()
	ca, err := authority.New("kctl-ctrl-exec-ca", now)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, key, err := ca.Sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kctl-ctrl"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	p.endpoint.CA = ca.CertPEM()
	return tls.X509KeyPair(cert, key)
}

// Endpoint returns the address and credentials.
func (p *Proxy) Endpoint() Endpoint { return p.endpoint }

// Close ends the requests in flight, records the reads that were not recorded yet, and
// stops listening.
func (p *Proxy) Close() error {
	p.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = p.server.Close()
	}
	<-p.done
	p.reads.rest()
	return err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// readKey is the context key of a request's clientRead.
type readKey struct{}

// clientRead is a request that is not a write.
type clientRead struct {
	kind    readKind
	request request.Request
}

// ServeHTTP authenticates a request and forwards it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !p.admits(req) {
		p.turnAway(w)
		return
	}
	if status := p.prepare(w, req); status != nil {
		answerWith(w, status)
		return
	}
	r := request.Classify(req.Method, req.URL, req.Header)
	if kind, ok := kindOf(p.options.Clients.Of(req), r, req.URL.Query()); ok {
		req = req.WithContext(context.WithValue(req.Context(), readKey{}, clientRead{kind, r}))
	}
	p.reverse.ServeHTTP(w, req)
}

// admits compares the token in constant time, whatever its length.
func (p *Proxy) admits(req *http.Request) bool {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], p.secret[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

func (p *Proxy) turnAway(w http.ResponseWriter) {
	if n := p.refused.Add(1); isPowerOfTen(n) {
		p.options.Recorder.Record(state.Note{Source: "exec", Warning: true, Text: fmt.Sprintf("requests rejected by the proxy (missing token of this run): %d", n)})
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	answerWith(w, apierrors.NewUnauthorized("this is the proxy of 'kctl-ctrl exec': use the token in the kubeconfig that it passes to its command"))
}

// prepare changes the request so that the transport can send it and the guard can read
// it, or returns why that is impossible.
func (p *Proxy) prepare(w http.ResponseWriter, req *http.Request) *apierrors.StatusError {
	if len(req.URL.Path) > maxPath {
		return apierrors.NewBadRequest("the path is too long")
	}
	for name := range req.Header {
		switch canonical := http.CanonicalHeaderKey(name); {
		case strings.HasPrefix(canonical, "Impersonate-") && p.options.Impersonates:
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
				Message: "'kctl-ctrl exec' already impersonates a user (--as): its command cannot impersonate another",
			}}
		case canonical == "Authorization", strings.HasPrefix(canonical, "X-Remote-"):
			delete(req.Header, name)
		}
	}
	if req.UserAgent() == "" {
		req.Header.Set("User-Agent", unnamedClient) // otherwise the transport would add its own
	}
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	if !reads || req.Header.Get("Accept-Encoding") == "" {
		// Otherwise the transport would request gzip itself and decompress in blocks;
		// the guard reads the responses to writes.
		req.Header.Set("Accept-Encoding", "identity")
	}
	if reads {
		req.Body, req.ContentLength = http.NoBody, 0
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the limit is %d", maxBody))
	}
	if err != nil {
		return apierrors.NewBadRequest("read the body: " + err.Error())
	}
	req.ContentLength, req.TransferEncoding, req.Trailer = int64(len(body)), nil, nil
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	return nil
}

// rewrite sets the server's address.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.target)
	r.Out.GetBody = r.In.GetBody
}

// roundTrip sends a request and counts it if it is a read.
func (p *Proxy) roundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.options.Upstream.RoundTrip(req)
	read, isRead := req.Context().Value(readKey{}).(clientRead)
	switch {
	case err != nil:
		if isRead && req.Context().Err() == nil {
			p.reads.count(read.kind, 0, err.Error())
		}
		return nil, err
	case resp.StatusCode == http.StatusSwitchingProtocols:
		resp.Body.Close()
		return nil, errors.New("the server switched protocols, but this proxy supports only requests and watches")
	case isRead:
		p.reads.count(read.kind, resp.StatusCode, "")
		p.options.Deletions.read(read.kind.client, read.request, req.URL.Query(), resp.StatusCode)
	}
	return resp, nil
}

// unreachable answers if the server did not.
func (p *Proxy) unreachable(w http.ResponseWriter, _ *http.Request, err error) {
	answerWith(w, apierrors.NewServiceUnavailable("kctl-ctrl exec: "+err.Error()))
}

// Kubeconfig returns a kubeconfig for clients of the proxy, with a default namespace if
// there is one.
func (p *Proxy) Kubeconfig(namespace string) []byte {
	return kubeconfig(p.endpoint, namespace)
}
