package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/run"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// asProgram in the environment makes the test binary behave as the program; see
// TestMain. It is for tests that need a process of their own in their hands.
const asProgram = "KCTL_CTRL_TEST_AS_PROGRAM"

// program is the command line of a process, not started yet.
func program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	if slices.Contains(args, "--sandbox") || len(args) > 0 && (args[0] == "sandbox" || args[0] == "diff") {
		testbed.NeedsSandbox(t)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, self, args...)
	command.Env = append(os.Environ(), asProgram+"=1", "XDG_STATE_HOME="+t.TempDir(), "KUBECONFIG=/nonexistent")
	return command
}

// repository is the root of the source tree.
func repository(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestHealthStaysOnLoopback(t *testing.T) {
	none := func() map[string]func(*http.Request) error { return nil }
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.com:80", "nonsense"} {
		if s, err := run.StartHealth(address, none); err == nil {
			s.Close()
			t.Errorf("it listens on %q", address)
		}
	}
}
