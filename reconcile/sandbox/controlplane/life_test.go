package controlplane_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

func TestCloseLeavesNothing(t *testing.T) {
	before := runDirs(t)
	auditLog := filepath.Join(t.TempDir(), "audit.log")
	auditFile, err := os.OpenFile(auditLog, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var progress []string
	var early sandbox.Endpoint
	auditFull := make(chan struct{})
	sb, err := sandbox.Start(t.Context(), sandbox.Options{
		// The second half of what there is to start: an old version, options.
		KubernetesVersion: "v1.34",
		FeatureGates:      map[string]bool{"APIResponseCompression": false},
		DisableAdmission:  []string{"ServiceAccount"},
		Audit:             sandbox.AuditMetadata,
		AuditLog:          auditFile,
		AuditLogBytes:     4096,
		OnAuditLogFull:    func() { close(auditFull) },
		Progress:          func(line string) { progress = append(progress, line) },
		OnListening:       func(sb *sandbox.Sandbox) { early = sb.Endpoint() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close(context.Background())
	if early.URL == "" || early.URL != sb.Endpoint().URL {
		t.Errorf("when listening: %q, when ready: %q", early.URL, sb.Endpoint().URL)
	}
	for i, want := range []string{"etcd ready", "listening on 127.0.0.1:", "control plane ready"} {
		if i >= len(progress) || !strings.Contains(progress[i], want) {
			t.Errorf("progress: %q, want line %d to contain %q", progress, i, want)
		}
	}
	c := newClient(t, sb)
	if info := c.must(http.MethodGet, "/version", nil); info["emulationMinor"] != "34" || info["gitVersion"] != sandbox.LinkedVersion {
		t.Errorf("/version: %v", info)
	}
	pod := named("v1", "Pod", "early")
	pod["spec"] = object{"containers": []object{{"name": "c", "image": "i", "securityContext": object{"privileged": true}}}}
	c.must(http.MethodPost, "/api/v1/namespaces/default/pods", pod) // there is no service account

	ca := sb.Endpoint().CA
	if err := sb.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(sb.PID()) {
		t.Error("the child is still there")
	}
	if after := runDirs(t); !slices.Equal(before, after) {
		t.Errorf("run directories before: %v, after: %v", before, after)
	}
	if sandbox.Recognise(ca) {
		t.Error("a sandbox that is gone is recognised")
	}
	select {
	case <-sb.Exited():
	default:
		t.Error("Exited is open")
	}
	if err := sb.Err(); err != nil {
		t.Errorf("Err after Close: %v", err)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if info, err := os.Stat(auditLog); err != nil || info.Size() == 0 || info.Size() > 4096 || info.Mode().Perm() != 0o600 {
		t.Errorf("audit log: %v %v", info, err)
	}
	select {
	case <-auditFull:
	default:
		t.Error("nobody was told that the audit log is full")
	}
}

func TestKilledParentLeavesNothing(t *testing.T) {
	h := startHolder(t)
	if !exists(h.Kubeconfig) {
		t.Fatal("there is no kubeconfig: nothing is tested")
	}
	if err := h.parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child is gone", func() bool { return !alive(h.Child) })
	for _, path := range []string{h.RunDir, h.Kubeconfig} {
		if exists(path) {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestLeftoversAreSweptByTheNextStart(t *testing.T) {
	h := startHolder(t)
	if err := syscall.Kill(h.Child, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.parent.Process.Kill()
	h.parent.Wait()
	// A process is listed as dead while its last threads still hold its files.
	eventually(t, "nobody holds the run directory", func() bool { return !locked(t, h.RunDir) })
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sandbox.Start(stopped, sandbox.Options{})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Start with a done context: %v", err)
	}
	if exists(h.Kubeconfig) {
		t.Errorf("%s is still there", h.Kubeconfig)
	}
	if dirs := runDirs(t); len(dirs) != 1 || dirs[0] != shared.RunDir() {
		t.Errorf("run directories: %v, want only %s", dirs, shared.RunDir())
	}
}

// locked reports whether somebody holds the lock of a run directory.
func locked(t *testing.T, dir string) bool {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatalf("%v: nothing is tested", err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

func TestEndOfTheChildIsReported(t *testing.T) {
	for sig, want := range map[syscall.Signal]string{
		syscall.SIGTERM: `exited unexpectedly: control plane got signal "terminated"`,
		syscall.SIGKILL: "signal: killed\nlast log lines:\n",
		syscall.SIGABRT: "exit status 2\nlast log lines:\nSIGABRT: abort\n",
	} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			sb, err := sandbox.Start(t.Context(), sandbox.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer sb.Close(context.Background())
			if err := syscall.Kill(sb.PID(), sig); err != nil {
				t.Fatal(err)
			}
			select {
			case <-sb.Exited():
			case <-t.Context().Done():
				t.Fatal("not reported")
			}
			if err := sb.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Err: %v, want %q", err, want)
			}
			if err := sb.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if exists(sb.RunDir()) {
				t.Errorf("%s is still there", sb.RunDir())
			}
		})
	}
}

func TestStartReportsWhatTheChildDoesNotLike(t *testing.T) {
	for arg, want := range map[string]string{
		"--no-such-flag":                      "unknown flag: --no-such-flag",
		"--service-cluster-ip-range=nonsense": "service-cluster-ip-range[0] is not a valid cidr",
		"--tls-cert-file=missing":             "missing",
	} {
		sb, err := sandbox.Start(t.Context(), sandbox.Options{ExtraArgs: []string{arg}})
		if err == nil {
			sb.Close(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
	if dirs := runDirs(t); len(dirs) != 1 || dirs[0] != shared.RunDir() {
		t.Errorf("run directories: %v, want only %s", dirs, shared.RunDir())
	}
}

// With too few files to open, etcd and the Go runtime would end in stack traces.
func TestTooFewOpenFiles(t *testing.T) {
	command := exec.Command("sh", "-c", `ulimit -n 64 && exec "$0"`, os.Args[0])
	command.Env = append(os.Environ(), holdEnv+"="+filepath.Join(t.TempDir(), "config"))
	out, err := command.CombinedOutput()
	if text := string(out); err == nil || strings.Count(text, "\n") != 1 || !strings.Contains(text, "open file limit 64 is too low") || !strings.Contains(text, "ulimit -n 1024") {
		t.Errorf("%v, %s", err, text)
	}
}
