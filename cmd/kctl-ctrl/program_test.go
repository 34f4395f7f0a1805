package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// asProgram in the environment makes the test binary behave as the program; see
// TestMain. It is for tests that need a process of their own in their hands.
const asProgram = "KCTL_CTRL_TEST_AS_PROGRAM"

// program is the command line of a process, not started yet.
func program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	if slices.Contains(args, "--sandbox") || len(args) > 0 && (args[0] == "sandbox" || args[0] == "diff") {
		needsSandbox(t)
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

// started starts a process, which does not outlive the test. What it has said on its
// standard error is told where the test fails.
func started(t *testing.T, command *exec.Cmd) (lines *bufio.Scanner, stdout io.Reader, stderr *strings.Builder) {
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

// repository is the root of the source tree.
func repository(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestReadme runs the README's commands and compares what it says they print.
func TestReadme(t *testing.T) {
	parallel(t)
	text, err := os.ReadFile(filepath.Join(repository(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	run := regexp.MustCompile(`(?m)^go run \./cmd/kctl-ctrl (.+)$`).FindSubmatch(text)
	diff := regexp.MustCompile("(?s)\n\\./kctl-ctrl (diff [^\n]+)\n```\n\n```text\n(.*?)…\n```").FindSubmatch(text)
	queues := regexp.MustCompile("(?s)\n\\./kctl-ctrl (sandbox -- )\\./kctl-ctrl (get queues [^\n]+)\n```\n\n```text\n(.*?)```").FindSubmatch(text)
	if run == nil || diff == nil || queues == nil {
		t.Fatal("the README has lost its commands")
	}

	command := program(t, strings.Fields(string(run[1]))...)
	command.Dir = repository(t)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", run[0], err, out)
	}
	loops := regexp.MustCompile(`controllers +([0-9]+) loops run`).FindSubmatch(out)
	claimed := regexp.MustCompile(`([0-9]+) control loops`).FindSubmatch(text)
	if loops == nil || claimed == nil || !bytes.Equal(loops[1], claimed[1]) {
		t.Errorf("the README claims %q, the program says %q", claimed, loops)
	}

	command = program(t, strings.Fields(string(diff[1]))...)
	command.Dir = repository(t)
	out, _ = command.Output()
	if code := command.ProcessState.ExitCode(); code != exitChanged {
		t.Errorf("%s: exit code %d, want %d", diff[1], code, exitChanged)
	}
	if !bytes.HasPrefix(out, diff[2]) {
		t.Errorf("%s prints\n%s\nbut the README says\n%s", diff[1], out, diff[2])
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command = program(t, slices.Concat(strings.Fields(string(queues[1])), []string{self}, strings.Fields(string(queues[2])))...)
	command.Env = append(command.Env, "KCTL_CTRL_ATTACH_DIR="+t.TempDir())
	if out, err = command.Output(); err != nil || !bytes.Equal(out, queues[3]) {
		t.Errorf("%s prints\n%s%v\nbut the README says\n%s", queues[2], out, err, queues[3])
	}
}

// until reads lines until one contains the text, and returns all of them.
func until(t *testing.T, lines *bufio.Scanner, text string) string {
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

// The first Ctrl-C says what happens and ends the run in order: the summary is
// printed, the exit code is 0, and nothing of the sandbox is left.
func TestInterrupt(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			parallel(t)
			args := []string{"run", "--sandbox", "--nodes=0", "--controllers=deployment"}
			if signal == syscall.SIGTERM { // beside a cluster
				args = []string{"run", "--controllers=deployment", "--kubeconfig", kubeconfigFor(t, share(t).Sandbox)}
			}
			command := program(t, args...)
			lines, stdout, stderr := started(t, command)
			until(t, lines, "1 loop runs: deployment")
			begin := time.Now()
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(stdout); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("exit: %v", err)
			}
			t.Logf("ended after %s", time.Since(begin).Round(time.Millisecond))
			if !strings.Contains(stderr.String(), "stopping the loops") {
				t.Errorf("stderr does not say what happens: %q", stderr.String())
			}
			if strings.Contains(stderr.String(), "warning") {
				t.Errorf("not everything ended: %s", stderr.String())
			}
		})
	}
}

// While loops run, /healthz says how they are, each by its name, and /metrics
// has upstream's queue metrics.
func TestHealth(t *testing.T) {
	parallel(t)
	command := program(t, "run", "--sandbox", "--nodes=0", "--controllers=deployment,job", "--health-address=127.0.0.1:0")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	}()
	said := until(t, bufio.NewScanner(stderr), "health checks on ")
	base := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(said)

	get := func(path string) (int, string) {
		t.Helper()
		answer, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if code, body := get("/healthz"); code != http.StatusOK || !strings.Contains(body, "[+]deployment-controller ok") || !strings.Contains(body, "[+]job-controller ok") {
		t.Errorf("/healthz: %d\n%s", code, body)
	}
	if code, body := get("/healthz/job-controller"); code != http.StatusOK {
		t.Errorf("/healthz/job-controller: %d\n%s", code, body)
	}
	if code, _ := get("/healthz/statefulset-controller"); code != http.StatusNotFound {
		t.Errorf("a loop that does not run is %d, want 404", code)
	}
	if code, body := get("/metrics"); code != http.StatusOK || !strings.Contains(body, `workqueue_depth{name="deployment"`) {
		t.Errorf("/metrics: %d, without the deployment queue", code)
	}
}

func TestHealthStaysOnLoopback(t *testing.T) {
	none := func() map[string]func(*http.Request) error { return nil }
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.com:80", "nonsense"} {
		if s, err := startHealth(address, none); err == nil {
			s.close()
			t.Errorf("it listens on %q", address)
		}
	}
}

// TestAttribution has the Deployment and ReplicaSet loops, with all their
// workers, create 400 pods for 40 Deployments, over HTTP and from upstream's
// child goroutines. Each pod's record must carry the key of its own ReplicaSet.
func TestAttribution(t *testing.T) {
	parallel(t)
	var manifest strings.Builder
	for i := range 40 {
		name := "web-" + string(rune('a'+i/10)) + string(rune('a'+i%10))
		manifest.WriteString(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `}
spec:
  replicas: 10
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`)
	}
	command := program(t, "run", "--sandbox", "--nodes=0", "-f", "-", "--until-settled", "--timeout=90s", "-o", "json")
	command.Stdin = strings.NewReader(manifest.String())
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	lines.Scan() // the header
	pods, sets := 0, 0
	for lines.Scan() {
		var entry state.Entry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatal(err)
		}
		w, ok := entry.Event.(state.WriteFinished)
		if !ok || w.Verb != "create" || w.Result != state.WriteDone || w.Subresource != "" {
			continue
		}
		switch {
		case w.Object.Resource == "pods" && w.Controller == "replicaset-controller":
			pods++
		case w.Object.Resource == "replicasets" && w.Controller == "deployment-controller":
			sets++
		default:
			continue
		}
		owner := w.Object.Key()[:strings.LastIndex(w.Object.Key(), "-")]
		if w.Cause.Kind != state.CauseSync || w.Cause.Controller != w.Controller || w.Cause.Key != owner {
			t.Errorf("%s was created for %s, the record says %s", w.Object, owner, w.Cause)
		}
	}
	if pods != 400 || sets != 40 {
		t.Errorf("%d pods and %d ReplicaSets are in the journal, want 400 and 40", pods, sets)
	}
}
