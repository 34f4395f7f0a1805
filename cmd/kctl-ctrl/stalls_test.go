package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
)

// testSession is newSession with a log of the test's own. A queue that stalls in it,
// as tap.WatchForStalls finds, fails the test.
func testSession(t testing.TB, o sessionOptions) (*session, error) {
	t.Helper()
	o.logFile = filepath.Join(t.TempDir(), "log")
	t.Cleanup(func() {
		if line := stallIn(o.logFile); line != "" {
			t.Error(line)
		}
	})
	return newSession(o)
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
