package processes

import (
	"bufio"
	"bytes"
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

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestReadme runs the README's commands and compares what it says they print.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(programtest.Repository(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	run := regexp.MustCompile(`(?m)^go run \./cmd/kctl-ctrl (.+)$`).FindSubmatch(text)
	diff := regexp.MustCompile("(?s)\n\\./kctl-ctrl (diff [^\n]+)\n```\n\n```text\n(.*?)…\n```").FindSubmatch(text)
	queues := regexp.MustCompile("(?s)\n\\./kctl-ctrl (sandbox -- )\\./kctl-ctrl (get queues [^\n]+)\n```\n\n```text\n(.*?)```").FindSubmatch(text)
	if run == nil || diff == nil || queues == nil {
		t.Fatal("the README has lost its commands")
	}

	command := programtest.Program(t, strings.Fields(string(run[1]))...)
	command.Dir = programtest.Repository(t)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", run[0], err, out)
	}
	loops := regexp.MustCompile(`controllers +([0-9]+) controllers run`).FindSubmatch(out)
	claimed := regexp.MustCompile(`([0-9]+) controllers`).FindSubmatch(text)
	if loops == nil || claimed == nil || !bytes.Equal(loops[1], claimed[1]) {
		t.Errorf("the README claims %q, the program says %q", claimed, loops)
	}

	command = programtest.Program(t, strings.Fields(string(diff[1]))...)
	command.Dir = programtest.Repository(t)
	out, _ = command.Output()
	if code := command.ProcessState.ExitCode(); code != exitChanged {
		t.Errorf("%s: exit code %d, want %d", diff[1], code, exitChanged)
	}
	if !bytes.HasPrefix(out, diff[2]) {
		t.Errorf("%s prints\n%s\nbut the README says\n%s", diff[1], out, diff[2])
	}

	command = programtest.Program(t, slices.Concat(strings.Fields(string(queues[1])), []string{programtest.Tool(t, programtest.KctlCtrl)}, strings.Fields(string(queues[2])))...)
	command.Env = append(command.Env, "KCTL_CTRL_ATTACH_DIR="+t.TempDir())
	if out, err = command.Output(); err != nil || !bytes.Equal(out, queues[3]) {
		t.Errorf("%s prints\n%s%v\nbut the README says\n%s", queues[2], out, err, queues[3])
	}
}

// The first Ctrl-C says what happens and ends the run in order: the summary is
// printed, and the exit code is 0. TestNothingIsOpenToOthers does so in a sandbox.
func TestInterrupt(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			command := programtest.Program(t, "run", "--controllers=deployment", "--kubeconfig", onShared(t))
			lines, stdout, stderr := programtest.Started(t, command)
			programtest.Until(t, lines, "1 controller runs: deployment")
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
	t.Parallel()
	command := programtest.Program(t, "run", "--kubeconfig", onShared(t), "--controllers=deployment,job", "--health-address=127.0.0.1:0")
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
	said := programtest.Until(t, bufio.NewScanner(stderr), "health checks on ")
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

// TestAttribution has the Deployment and ReplicaSet loops, with all their
// workers, create 400 pods for 40 Deployments, over HTTP and from upstream's
// child goroutines. Each pod's record must carry the key of its own ReplicaSet.
func TestAttribution(t *testing.T) {
	t.Parallel()
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
	command := programtest.Program(t, "run", "--sandbox", "--nodes=0", "--controllers=deployment,replicaset", "-f", "-", "--until-settled", "--timeout=90s", "-o", "json")
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
