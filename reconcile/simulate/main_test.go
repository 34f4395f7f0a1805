package simulate_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/controlplane"
)

func TestMain(m *testing.M) {
	controlplane.RunChild()
	code := m.Run()
	if shared.sandbox != nil {
		if err := shared.sandbox.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "close sandbox:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared is the one control plane of all tests of this package. Each test has
// namespaces of its own; the simulation is started and stopped by each, so tests
// do not run in parallel.
var shared struct {
	once    sync.Once
	sandbox *sandbox.Sandbox
	err     error
}

func config(t testing.TB) *rest.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it starts a sandbox")
	}
	shared.once.Do(func() {
		shared.sandbox, shared.err = sandbox.Start(context.Background(), sandbox.Options{
			// Nobody here makes default service accounts.
			DisableAdmission: []string{"ServiceAccount"},
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	endpoint := shared.sandbox.Endpoint()
	return &rest.Config{
		Host: endpoint.URL, BearerToken: endpoint.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: endpoint.CA},
		QPS:             -1,
	}
}

// quiet is a context without log lines, for parts that have their own say.
func quiet(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until check returns nothing, the complaint otherwise.
func eventually(t testing.TB, what string, check func() string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s", what, complaint)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
