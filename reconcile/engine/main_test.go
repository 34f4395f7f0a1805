package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/controlplane"
)

// TestMain lets the sandboxes of tests execute this binary as their control plane.
func TestMain(m *testing.M) {
	controlplane.RunChild()
	done := testbed.Prepare()
	code := m.Run()
	done()
	os.Exit(code)
}

// testEngine is New with a log of the test's own. A queue that stalls in it,
// as tap.WatchForStalls finds, fails the test.
func testEngine(t testing.TB, spec Spec) (*Engine, error) {
	t.Helper()
	spec.Log.File = filepath.Join(t.TempDir(), "log")
	t.Cleanup(func() {
		if line := stallIn(spec.Log.File); line != "" {
			t.Error(line)
		}
	})
	return New(spec)
}

// stallIn is the line of a log that tells of a stalled queue, or empty.
func stallIn(file string) string {
	log, err := os.ReadFile(file)
	if err != nil {
		return "" // nothing was logged
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "Queue stalled") {
			return line
		}
	}
	return ""
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// await polls for what only the API server knows.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// stopEngine ends an engine of a test.
func stopEngine(t testing.TB, e *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		t.Logf("stop the engine: %v", err)
	}
}
