package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// maxMetrics limits one response, in bytes.
const maxMetrics = 128 << 20

// ErrTokenWithheld is returned if a bearer token is required and the endpoint is not
// verified.
var ErrTokenWithheld = errors.New("credentials required, but the kubeconfig's token is not sent to an unverified endpoint; use --insecure-metrics to send it anyway")

// MetricsOptions specify a metrics endpoint and the credentials it may receive.
type MetricsOptions struct {
	// URL is the URL of the metrics, http or https.
	URL string
	// Wrap guards the client; it is required.
	Wrap Wrap
	// Dial reaches the process if it is not reachable over the network; see Forward.
	Dial func(ctx context.Context) (net.Conn, error)
	// Credentials are the kubeconfig's; nil means none. A client certificate does not
	// disclose a secret and is sent to any server that requests one. A bearer token is
	// sent only after a 401 or 403 response without it, over TLS, and only if the
	// server's certificate was verified.
	Credentials *rest.Config
	// CAFile verifies the server; the machine's roots do if it is empty.
	CAFile string
	// Insecure is --insecure-metrics: unverified certificates are accepted from URLs,
	// too, and the token is always sent.
	Insecure bool
}

// MetricsClient reads the metrics of one process. It does not follow redirects. Close
// closes its connections.
type MetricsClient struct {
	url      string
	insecure bool
	plain    *http.Client
	// withToken is nil if there is no token.
	withToken *http.Client
	verifies  func(*tls.ConnectionState) bool
	sendToken bool
	idle      func()
}

// Metrics returns a client. It does not connect yet.
//
// A process reached through a port-forward usually serves a self-signed certificate
// (kube-controller-manager v1.37.1 does by default). It is accepted unless a CA file is
// given, because the connection goes through the API server, which was verified.
func Metrics(o MetricsOptions) (*MetricsClient, error) {
	if o.Wrap == nil {
		return nil, ErrNoGuard
	}
	u, err := MetricsURL(o.URL)
	if err != nil {
		return nil, err
	}
	roots, err := metricsRoots(o.CAFile)
	if err != nil {
		return nil, err
	}
	certificate, err := clientCertificate(o.Credentials)
	if err != nil {
		return nil, err
	}
	inner := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     false,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		MaxIdleConns:          1,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			RootCAs:    roots,
			// An unverified server is read from but gets no token: see verifies.
			InsecureSkipVerify:   o.Insecure || o.Dial != nil && o.CAFile == "",
			GetClientCertificate: certificate,
		},
	}
	if o.Dial != nil {
		inner.Proxy = nil
		inner.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx) }
	}
	guarded := o.Wrap(inner)
	c := &MetricsClient{
		url: u.String(), insecure: o.Insecure,
		plain: client(guarded),
		verifies: func(s *tls.ConnectionState) bool {
			return s != nil && verified(s, roots, u.Hostname())
		},
		idle: inner.CloseIdleConnections,
	}
	if c.withToken, err = tokenClient(o.Credentials, guarded); err != nil {
		return nil, err
	}
	return c, nil
}

// MetricsURL parses a metrics URL; the default path is /metrics.
func MetricsURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("invalid metrics URL %q: use http://HOST:PORT/metrics or https://", text)
	}
	if u.User != nil {
		return nil, fmt.Errorf("invalid metrics URL of %s: passwords in URLs are rejected because they leak into shell histories and logs", u.Host)
	}
	if u.Path == "" {
		u.Path = "/metrics"
	}
	return u, nil
}

func client(rt http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Get reads the metrics. Once a token was required, it is sent with every request.
func (c *MetricsClient) Get(ctx context.Context) ([]byte, error) {
	if c.sendToken {
		body, _, err := c.get(ctx, c.withToken)
		return body, err
	}
	body, resp, err := c.get(ctx, c.plain)
	var refused *StatusError
	if !errors.As(err, &refused) || !refused.Unauthorised() || c.withToken == nil {
		return body, err
	}
	if !c.insecure && !c.verifies(resp.TLS) {
		return nil, fmt.Errorf("%w: %w", err, ErrTokenWithheld)
	}
	body, _, err = c.get(ctx, c.withToken)
	c.sendToken = err == nil
	return body, err
}

// Close ends idle connections.
func (c *MetricsClient) Close() { c.idle() }

func (c *MetricsClient) get(ctx context.Context, client *http.Client) ([]byte, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("get %s: %w", c.url, err)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	req.Header.Set("User-Agent", "kctl-ctrl")
	resp, err := client.Do(req)
	if err != nil {
		var certificate *tls.CertificateVerificationError
		if errors.As(err, &certificate) {
			return nil, nil, fmt.Errorf("get %s: cannot verify its certificate: %w; set --metrics-ca, or use --insecure-metrics", c.url, certificate.Err)
		}
		return nil, nil, fmt.Errorf("get metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		word, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return nil, resp, &StatusError{URL: c.url, Code: resp.StatusCode, Text: strings.TrimSpace(string(word))}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetrics+1))
	if err != nil {
		return nil, resp, fmt.Errorf("read the metrics of %s: %w", c.url, err)
	}
	if len(body) > maxMetrics {
		return nil, resp, fmt.Errorf("read the metrics of %s: more than %d MB", c.url, maxMetrics>>20)
	}
	return body, resp, nil
}

// StatusError is a response other than 200.
type StatusError struct {
	URL  string
	Code int
	Text string
}

// Error includes the start of the response, which may be hostile text.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("get %s: %d %s", e.URL, e.Code, http.StatusText(e.Code))
	if e.Text != "" && !strings.HasPrefix(e.Text, "<") {
		text += fmt.Sprintf(" (%.200q)", e.Text)
	}
	return text
}

// Unauthorised reports whether other credentials might help.
func (e *StatusError) Unauthorised() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden
}

func metricsRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the metrics CA file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the metrics CA file: %s contains no certificate", file)
	}
	return roots, nil
}

// verified does the verification that the handshake skips if it accepts all
// certificates.
func verified(s *tls.ConnectionState, roots *x509.CertPool, host string) bool {
	if len(s.PeerCertificates) == 0 {
		return false
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between})
	return err == nil
}

type certificateFunc = func(*tls.CertificateRequestInfo) (*tls.Certificate, error)

// clientCertificate is the kubeconfig's, or a credential plugin's; nil if there is
// none.
func clientCertificate(config *rest.Config) (certificateFunc, error) {
	if config == nil {
		return nil, nil
	}
	settings, err := bare(config).TransportConfig()
	if err != nil {
		return nil, fmt.Errorf("read the credentials of the kubeconfig: %w", err)
	}
	tlsConfig, err := transport.TLSConfigFor(settings)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate of the kubeconfig: %w", err)
	}
	if tlsConfig == nil {
		return nil, nil
	}
	return tlsConfig.GetClientCertificate, nil
}

// tokenClient adds the token of the kubeconfig or of a credential plugin to requests;
// nil if there is none. Passwords are never sent.
func tokenClient(config *rest.Config, next http.RoundTripper) (*http.Client, error) {
	if config == nil || config.BearerToken == "" && config.BearerTokenFile == "" && config.ExecProvider == nil && config.AuthProvider == nil {
		return nil, nil
	}
	wrapped, err := rest.HTTPWrappersForConfig(bare(config), next)
	if err != nil {
		return nil, fmt.Errorf("read the token of the kubeconfig: %w", err)
	}
	return client(wrapped), nil
}

// bare is the config's identity without what only applies to the API server: guard,
// impersonation and password.
func bare(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.WrapTransport, c.Impersonate, c.Username, c.Password = nil, rest.ImpersonationConfig{}, "", ""
	return c
}
