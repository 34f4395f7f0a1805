package controllers

import (
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/controller-manager/pkg/clientbuilder"
)

// userAgentPrefix and a controller's name make the user agent of its requests.
const userAgentPrefix = "kctl-ctrl/"

// clients gives each controller its own client: its own user agent and its own
// rate limit, over connections that all of them share. It implements upstream's
// ControllerClientBuilder.
type clients struct {
	base *rest.Config
	conn componentbaseconfig.ClientConnectionConfiguration
	// impersonate has the client of a controller act as its account.
	impersonate bool
}

var _ clientbuilder.ControllerClientBuilder = clients{}

// Config returns a copy of the base configuration that says
// "kctl-ctrl/<name>", limited and encoded as the flags say. It never fails.
func (c clients) Config(name string) (*rest.Config, error) {
	cfg := rest.CopyConfig(c.base)
	cfg.UserAgent = userAgentPrefix + name
	cfg.DisableCompression = true
	cfg.AcceptContentTypes = c.conn.AcceptContentTypes
	cfg.ContentType = c.conn.ContentType
	cfg.QPS = c.conn.QPS
	cfg.Burst = int(c.conn.Burst)
	// A limiter in the base would be one for all controllers.
	cfg.RateLimiter = nil
	if user := accountUser(name); c.impersonate && user != "" {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	}
	return cfg, nil
}

// Client returns a typed client for one controller.
func (c clients) Client(name string) (kubernetes.Interface, error) {
	cfg, err := c.Config(name)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create client of %s: %w", name, err)
	}
	return client, nil
}

// DiscoveryClient returns an uncached discovery client. Discovery comes in
// bursts, so its limits are at least upstream's 20 requests per second and 200
// at once.
func (c clients) DiscoveryClient(name string) (discovery.DiscoveryInterface, error) {
	cfg, err := c.Config(name)
	if err != nil {
		return nil, err
	}
	if cfg.QPS >= 0 {
		cfg.QPS = max(cfg.QPS, 20)
		cfg.Burst = max(cfg.Burst, 200)
	}
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create discovery client of %s: %w", name, err)
	}
	return client, nil
}

// ConfigOrDie, ClientOrDie and DiscoveryClientOrDie complete the interface.
// They panic; no controller uses them.
func (c clients) ConfigOrDie(name string) *rest.Config {
	return must(c.Config(name))
}

// ClientOrDie is Client or a panic.
func (c clients) ClientOrDie(name string) kubernetes.Interface { return must(c.Client(name)) }

// DiscoveryClientOrDie is DiscoveryClient or a panic.
func (c clients) DiscoveryClientOrDie(name string) discovery.DiscoveryInterface {
	return must(c.DiscoveryClient(name))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
