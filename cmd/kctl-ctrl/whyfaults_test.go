//go:build faults

package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// An injected fault is made in a sandbox, so that real controllers, a real
// scheduler and a real API server write what why reads.
type injectedFault struct {
	Name string `json:"name"`
	// Objects are applied to the fault's namespace, unless a command does so;
	// Files are beside them, cluster.yaml is applied first.
	Objects string            `json:"objects"`
	Files   map[string]string `json:"files"`
	Do      []string          `json:"do"`
	Ask     string            `json:"ask"`
	Cause   string            `json:"cause"`
	Also    []string          `json:"also"`
}

// faultPatience is how long controllers may take to write what shows a fault: the
// autoscaler's looks at an object every 15 s.
const faultPatience = 60 * time.Second

// TestInjectedFaults measures why on faults in a real cluster: how often the true
// cause comes first, and how often something is called certain that is not true.
func TestInjectedFaults(t *testing.T) {
	var faults []injectedFault
	text, err := os.ReadFile(filepath.Join("testdata", "faults.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &faults); err != nil {
		t.Fatal(err)
	}
	s := startFaultSandbox(t)
	for _, f := range faults {
		s.inject(t, f)
	}
	first, wrong := 0, 0
	for _, f := range faults {
		found := s.askUntil(t, f)
		switch {
		case len(found) == 0:
			t.Logf("MISSED %s: nothing found, want %s", f.Name, f.Cause)
		case found[0].Cause != f.Cause:
			t.Logf("MISSED %s: %s comes first, want %s: %s", f.Name, found[0].Cause, f.Cause, found[0].Text)
		default:
			first++
		}
		for _, d := range found {
			if d.Role == document.RoleCause && d.Certainty == document.Certain && d.Cause != f.Cause && !slices.Contains(f.Also, d.Cause) {
				wrong++
				t.Logf("WRONGLY CERTAIN %s: %s: %s", f.Name, d.Cause, d.Text)
			}
		}
	}
	t.Logf("injected faults: %d; true cause first: %d (%.1f %%); wrongly certain: %d", len(faults), first, float64(first)/float64(len(faults))*100, wrong)
	if first*100 < len(faults)*95 || wrong > 0 {
		t.Error("want 95 % with the true cause first, and nothing wrongly certain")
	}
}

// startFaultSandbox starts a sandbox in a process of its own, without a limit of time.
func startFaultSandbox(t *testing.T) *liveSandbox {
	t.Helper()
	s := &liveSandbox{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	limited := program(t, "sandbox", "--nodes=3", "--", "sh", "-c", `cp "$KUBECONFIG" "$0.new" && mv "$0.new" "$0" && echo up && read end`, s.kubeconfig)
	command := exec.Command(limited.Path, limited.Args[1:]...)
	command.Env = limited.Env
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = command.Wait() })
	word := make([]byte, 2)
	if _, err := io.ReadFull(stdout, word); err != nil || string(word) != "up" {
		t.Fatalf("the sandbox did not start: %q, %v", word, err)
	}
	return s
}

func (f injectedFault) namespace() string { return "f-" + f.Name }

func (s *liveSandbox) inject(t *testing.T, f injectedFault) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f.Files {
		write(t, filepath.Join(dir, name), strings.ReplaceAll(text, "$NS", f.namespace()))
	}
	write(t, filepath.Join(dir, "objects.yaml"), f.Objects)
	script := []string{"set -e", "kubectl create namespace $NS", "until kubectl get -n $NS serviceaccount default; do sleep 0.1; done"}
	if f.Files["cluster.yaml"] != "" {
		script = append(script, "kubectl apply -f cluster.yaml")
	}
	if f.Objects != "" && !slices.ContainsFunc(f.Do, func(line string) bool { return strings.Contains(line, "objects.yaml") }) {
		script = append(script, "kubectl apply -n $NS -f objects.yaml")
	}
	command := s.command("sh", "-c", strings.Join(append(script, f.Do...), "\n"))
	command.Dir = dir
	command.Env = append(command.Env, "NS="+f.namespace(), "PATH="+kubectlDir(t)+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("inject %s: %v\n%s", f.Name, err, out)
	}
}

// kubectlDir is a directory with kubectl in it, which this test binary is too.
func kubectlDir(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// askUntil asks until the true cause comes first, and gives the last answer.
func (s *liveSandbox) askUntil(t *testing.T, f injectedFault) []document.Finding {
	t.Helper()
	var why document.Why
	for deadline := time.Now().Add(faultPatience); ; {
		command := program(t, "why", strings.ReplaceAll(f.Ask, "$NS", f.namespace()), "-n", f.namespace(), "--loops=false", "-o", "json", "--kubeconfig", s.kubeconfig)
		var stderr strings.Builder
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("why %s of %s: %v\n%s", f.Ask, f.Name, err, stderr.String())
		}
		why = document.Why{}
		if err := json.Unmarshal(out, &why); err != nil {
			t.Fatal(err)
		}
		if len(why.Findings) > 0 && why.Findings[0].Cause == f.Cause || time.Now().After(deadline) {
			return why.Findings
		}
	}
}
