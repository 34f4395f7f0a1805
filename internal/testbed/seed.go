package testbed

import (
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// SeedAgent is the user agent of what a test itself does to its sandbox.
const SeedAgent = "seed"

// SeedConfig is for what a test does to its sandbox itself: it writes for real, as fast
// as it can, and says nothing of warnings.
func SeedConfig(sb *sandbox.Sandbox) (*rest.Config, error) {
	endpoint := sb.Endpoint()
	grant, err := guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	if err != nil {
		return nil, err
	}
	open, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: grant})
	if err != nil {
		return nil, err
	}
	config, err := connect.Server(connect.Endpoint(endpoint), open.Wrap, connect.Limits{QPS: -1})
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.WarningHandler = SeedAgent, rest.NoWarnings{}
	return config, nil
}

// SeedClient is a client by SeedConfig.
func SeedClient(t testing.TB, sb *sandbox.Sandbox) kubernetes.Interface {
	t.Helper()
	config, err := SeedConfig(sb)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
