package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
)

// testEngine is engine.New with a log of the test's own. A queue that stalls in it,
// as tap.WatchForStalls finds, fails the test.
func testEngine(t testing.TB, spec engine.Spec) (*engine.Engine, error) {
	t.Helper()
	spec.Log.File = filepath.Join(t.TempDir(), "log")
	t.Cleanup(func() {
		if line := stallIn(spec.Log.File); line != "" {
			t.Error(line)
		}
	})
	return engine.New(spec)
}

// exitStalled is the exit code of the program, as tests start it, where a queue has
// stalled: none that a test expects.
const exitStalled = 99

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

// failOnStall is the program's exit code, or exitStalled and a line on standard error
// where its log has a stalled queue.
func failOnStall(code int) int {
	dir, err := about.StateDir()
	if err != nil {
		return code
	}
	if line := stallIn(filepath.Join(dir, about.LogName)); line != "" {
		os.Stderr.WriteString(line)
		return exitStalled
	}
	return code
}
