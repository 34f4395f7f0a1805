// Package programtest starts the program as a process, for tests that link nothing of
// it. It is linked once for all packages: go tool keeps it in the build cache.
package programtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// KctlCtrl and Kubectl are tools of the module.
	KctlCtrl = "github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl"
	Kubectl  = "k8s.io/kubernetes/cmd/kubectl"
	// Patience bounds each wait.
	Patience = time.Minute
)

// Program is the command line of a process, not started yet. A queue that stalls in it
// fails the test.
func Program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, Tool(t, KctlCtrl), args...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "KUBECONFIG=/nonexistent")
	t.Cleanup(func() {
		state := ""
		for _, variable := range command.Env {
			if dir, found := strings.CutPrefix(variable, "XDG_STATE_HOME="); found {
				state = dir
			}
		}
		if line := StallIn(state); line != "" {
			t.Errorf("%q: %s", args, line)
		}
	})
	return command
}

// Started starts a process, which does not outlive the test. What it has said on its
// standard error is told where the test fails.
func Started(t testing.TB, command *exec.Cmd) (lines *bufio.Scanner, stdout io.Reader, stderr *strings.Builder) {
	t.Helper()
	stderr = &strings.Builder{}
	command.Stderr = stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("%q said %s", command.Args, stderr)
		}
	})
	return bufio.NewScanner(stdout), stdout, stderr
}

// Until reads lines until one contains the text, and returns all of them.
func Until(t testing.TB, lines *bufio.Scanner, text string) string {
	t.Helper()
	var read strings.Builder
	for lines.Scan() {
		read.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), text) {
			return read.String()
		}
	}
	t.Fatalf("no line with %q in\n%s", text, read.String())
	return ""
}

// Await waits until something holds.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// StallIn is the line in the log of a state directory that tells of a stalled queue
// (see tap.WatchForStalls), which no script may see; empty where there is none.
func StallIn(state string) string {
	log, err := os.ReadFile(filepath.Join(state, "kctl-ctrl", "kctl-ctrl.log"))
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

// Repository is the root of the source tree. What go test keeps of a passed test has to
// depend on the program's source, of which it knows nothing: each directory is read.
func Repository(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			t.Fatal("no go.mod above this directory")
		}
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Tool builds a tool of the module, and is the path of its executable; with -short the
// test is skipped. Packages are
// tested at the same time: one of them links, the others wait.
func Tool(t testing.TB, pkg string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it links the program")
	}
	tools.Lock()
	defer tools.Unlock()
	if path := tools.built[pkg]; path != "" {
		return path
	}
	unlock, err := lock(filepath.Join(os.TempDir(), fmt.Sprintf("kctl-ctrl-scripttest-%d.lock", os.Getuid())))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	build := exec.Command("go", "tool", "-n", pkg)
	build.Dir = Repository(t)
	var said strings.Builder
	build.Stderr = &said
	out, err := build.Output()
	if err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, said.String())
	}
	tools.built[pkg] = strings.TrimSpace(string(out))
	return tools.built[pkg]
}

// tools are those that this process knows the path of.
var tools = struct {
	sync.Mutex
	built map[string]string
}{built: map[string]string{}}

// ReadUntil reads until a text has come.
func ReadUntil(t testing.TB, from io.Reader, said *bytes.Buffer, text string) {
	t.Helper()
	buffer := make([]byte, 4<<10)
	for !bytes.Contains(said.Bytes(), []byte(text)) {
		n, err := from.Read(buffer)
		said.Write(buffer[:n])
		if err != nil {
			t.Fatalf("no %q in\n%s", text, said.String())
		}
	}
}
