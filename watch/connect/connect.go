// Package connect is the only entry point to an API server: every rest.Config of the
// program is created here, and no other package may load a kubeconfig, build a
// rest.Config or own an http.Client (a test over the source tree enforces it).
//
// A config can only be created with the transport wrapper that guards its writes. The
// wrapper is a parameter because the guard is in package reconcile, which this package
// must not import: cmd joins the two.
//
// Copies made with rest.CopyConfig keep the wrapper, so that every client derived from
// such a config passes the same guard.
package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Wrap adds a guard to a transport. It is called once for each transport that client-go
// creates; the result must be safe for concurrent use.
type Wrap func(http.RoundTripper) http.RoundTripper

// Limits are the client-side rate limits of a config, in requests per second. A
// negative QPS disables them (client-go v0.37.1 rest/config.go).
type Limits struct {
	QPS   float32
	Burst int
}

// ErrNoGuard is returned when a config is requested without a guard.
var ErrNoGuard = errors.New("build a client config: no guard for its transport")

// ErrNoCluster is returned if no kubeconfig specifies a cluster.
var ErrNoCluster = errors.New("no cluster configured: set KUBECONFIG or --kubeconfig, or use the embedded control plane with 'run --sandbox' or 'sandbox -- COMMAND'")

func load(loader clientcmd.ClientConfig) (*rest.Config, error) {
	config, err := loader.ClientConfig()
	if err != nil {
		if clientcmd.IsEmptyConfig(err) {
			return nil, noCluster(loader)
		}
		return nil, LoadError(err)
	}
	if err := takeUserinfo(config); err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	// kubectl's flags fall back to an API server on port 8080 of this machine, which
	// has not been a cluster's default for years.
	raw, err := loader.RawConfig()
	if err == nil && len(raw.Clusters) == 0 && config.Host == "http://localhost:8080" {
		return nil, noCluster(loader)
	}
	return config, restrictPlugin(config)
}

// noCluster is ErrNoCluster with the missing files that KUBECONFIG names, which
// clientcmd treats as empty.
func noCluster(loader clientcmd.ClientConfig) error {
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return ErrNoCluster
	}
	var missing []string
	for _, file := range loader.ConfigAccess().GetLoadingPrecedence() {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, file)
		}
	}
	if len(missing) == 0 {
		return ErrNoCluster
	}
	return fmt.Errorf("KUBECONFIG: %s not found: %w", strings.Join(missing, ", "), ErrNoCluster)
}

// takeUserinfo moves user and password from the address ("https://user:password@host")
// to the credentials: the address is printed, and returned by attach. As in kubectl,
// they take precedence over a token, but not over a credential plugin.
func takeUserinfo(config *rest.Config) error {
	if !strings.Contains(config.Host, "@") {
		return nil
	}
	text := config.Host
	if !strings.Contains(text, "://") {
		text = "https://" + text // as client-go reads it where there is an authority
	}
	u, err := url.Parse(text)
	if err != nil {
		// What makes it invalid may be a part of the password.
		return errors.New("cluster.server is not a valid URL: check that special characters in a password are escaped")
	}
	if u.User == nil {
		return nil
	}
	if name := u.User.Username(); name != "" && config.ExecProvider == nil && config.AuthProvider == nil {
		config.Username = name
		config.Password, _ = u.User.Password()
		config.BearerToken, config.BearerTokenFile = "", ""
	}
	u.User = nil
	clean := u.String()
	if text != config.Host {
		clean = strings.TrimPrefix(clean, "https://")
	}
	config.Host = clean
	return nil
}

// userinfo is the part between the scheme and the host of an address. If it contains an
// invalid character, such as a quotation mark, it extends to the last "@", because the
// rest may be part of a password.
var userinfo = regexp.MustCompile(`(?s)://.*@`)

// LoadError returns the error of a clientcmd.ClientConfig without passwords: it may
// quote an address that contains one.
func LoadError(err error) error { return fmt.Errorf("load kubeconfig: %w", withoutPassword(err)) }

// withoutPassword removes possible passwords from an error of the kubeconfig, which
// quotes addresses.
func withoutPassword(err error) error {
	text := userinfo.ReplaceAllString(err.Error(), "://***@")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// Endpoint is the address of an API server and its credentials.
type Endpoint struct {
	// URL is "https://127.0.0.1:43210".
	URL string
	// CA is the PEM bundle that verifies the server's certificate.
	CA []byte
	// Token is a bearer token.
	Token string
}

// Server returns a config for an endpoint that is known without a kubeconfig: the
// embedded control plane.
func Server(endpoint Endpoint, wrap Wrap, limits Limits) (*rest.Config, error) {
	if wrap == nil {
		return nil, ErrNoGuard
	}
	if len(endpoint.CA) == 0 {
		return nil, fmt.Errorf("connect to %s: no certificate authority to verify it", endpoint.URL)
	}
	return finish(&rest.Config{
		Host:            endpoint.URL,
		BearerToken:     endpoint.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: endpoint.CA},
	}, wrap, limits), nil
}

func finish(config *rest.Config, wrap Wrap, limits Limits) *rest.Config {
	config.QPS, config.Burst = limits.QPS, limits.Burst
	config.UserAgent = "kctl-ctrl"
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return checkedDiscovery{wrap(rt)} })
	return config
}

// Target is the server that a kubeconfig specifies.
type Target struct {
	// URL is the server's address, including its path prefix.
	URL string
	// CA is the PEM bundle that verifies the server's certificate. It is empty if the
	// kubeconfig relies on the machine's roots or disables verification.
	CA []byte

	// origin and config are the kubeconfig's content, with the bytes of CA instead of
	// its file name.
	origin string
	config *rest.Config
}

// TargetOf reads the target of the user's kubeconfig. It is for creating the guard,
// which must exist before a config.
func TargetOf(loader clientcmd.ClientConfig) (Target, error) {
	config, err := load(loader)
	if err != nil {
		return Target{}, err
	}
	if !config.Insecure && config.CAFile != "" {
		if err := inlineCA(&config.TLSClientConfig); err != nil {
			return Target{}, fmt.Errorf("read the certificate authority of %s: %w", config.Host, err)
		}
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return Target{}, fmt.Errorf("read the address of the API server: %w", err)
	}
	target := Target{URL: config.Host, CA: config.CAData, origin: server.Scheme + "://" + server.Host, config: config}
	if config.Insecure {
		target.CA = nil
	}
	return target, nil
}

// inlineCA replaces the file name of the authority with its bytes. client-go would read
// the file again for each transport, and while it runs (v0.37.1 transport/cache.go): a
// user who approved an authority has approved bytes.
func inlineCA(c *rest.TLSClientConfig) error {
	if len(c.CAData) == 0 {
		ca, err := os.ReadFile(c.CAFile)
		if err != nil {
			return err
		}
		if len(ca) == 0 {
			// Without bytes and file, the machine's roots would be used.
			return fmt.Errorf("%s is empty", c.CAFile)
		}
		c.CAData = ca
	}
	c.CAFile = ""
	return nil
}

// Config returns the config for exactly this server and authority, regardless of later
// changes to the kubeconfig and its files.
func (t Target) Config(wrap Wrap, limits Limits) (*rest.Config, error) {
	switch {
	case wrap == nil:
		return nil, ErrNoGuard
	case t.config == nil:
		return nil, ErrNoCluster
	}
	return finish(rest.CopyConfig(t.config), wrap, limits), nil
}

// Server is scheme, host and port of the URL, with client-go's default scheme if the
// kubeconfig has none: the server to which a guard is bound.
func (t Target) Server() string { return t.origin }

// Path is the path of the URL without a trailing slash: empty for most servers,
// "/k8s/clusters/c-1" behind a proxy.
func (t Target) Path() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}
