// Package processes tests the program as a process: the files and ports that it has, what
// signals do, what a kill leaves, credential plugins, and the README's commands. It
// links nothing of the program.
package processes

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// The exit codes that the tests check; docs/safety.md has those of active mode.
const (
	exitOK          = 0
	exitChanged     = 1
	exitError       = 2
	exitInterrupted = 130
)

// atOnce is how many tests run at a time where -parallel does not say it: most of the
// time they wait for the program.
const atOnce = "3"

func TestMain(m *testing.M) {
	flag.Parse()
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel {
		_ = flag.Set("test.parallel", atOnce)
	}
	// No test is to see the settings of who runs it.
	config, err := os.MkdirTemp("", "kctl-ctrl-processes")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_CONFIG_HOME", config)
	code := m.Run()
	for _, s := range shared.idle {
		s.Close()
	}
	_ = os.RemoveAll(config)
	os.Exit(code)
}

// shared are the sandboxes that no test has.
var shared struct {
	sync.Mutex
	idle []*programtest.Sandbox
}

// share gives a test a control plane without nodes and controllers that is as empty as a
// new one. At the end of the test, after its other cleanups, the next test has it.
func share(t *testing.T) *programtest.Sandbox {
	t.Helper()
	s := idle()
	if s == nil {
		var err error
		if s, err = programtest.StartSandbox(programtest.Tool(t, programtest.KctlCtrl), "--nodes=0", "--controllers="); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.Empty(context.Background()); err != nil {
			t.Logf("the shared sandbox is of no use to the next test: %v", err)
			s.Close()
			return
		}
		shared.Lock()
		defer shared.Unlock()
		shared.idle = append(shared.idle, s)
	})
	return s
}

// idle is nil where all are taken.
func idle() *programtest.Sandbox {
	shared.Lock()
	defer shared.Unlock()
	n := len(shared.idle)
	if n == 0 {
		return nil
	}
	s := shared.idle[n-1]
	shared.idle = shared.idle[:n-1]
	return s
}

// onShared writes a kubeconfig that leads to a shared sandbox, for the test alone.
func onShared(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, share(t).Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// within waits until something holds, and reports whether it came to that.
func within(t *testing.T, holds func() bool) bool {
	t.Helper()
	deadline := time.Now().Add(programtest.Patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}
