package controlplane_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/controlplane"
)

// holdEnv makes the test binary a program that starts a sandbox, writes a kubeconfig to
// the file that it names, says where, and then does nothing until it is killed.
const holdEnv = "CONTROLPLANE_TEST_HOLD"

// shared is a sandbox for the tests that do not harm it. It writes an audit log.
var shared *sandbox.Sandbox

func TestMain(m *testing.M) {
	controlplane.RunChild()
	if os.Getenv(holdEnv) != "" {
		hold()
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped with -short: each test here starts a sandbox")
		return 0
	}
	syscall.Umask(0) // nothing may rely on a kind umask
	runtimeDir, err := os.MkdirTemp("/tmp", "kc")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(runtimeDir)
	os.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	shared, err = sandbox.Start(context.Background(), sandbox.Options{Audit: sandbox.AuditRequest})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Close(context.Background())
	return m.Run()
}

func hold() {
	sb, err := sandbox.Start(context.Background(), sandbox.Options{})
	if err == nil {
		_, err = sb.WriteKubeconfig("")
	}
	if err == nil {
		_, err = sb.WriteKubeconfig(os.Getenv(holdEnv))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(held{Child: sb.PID(), RunDir: sb.RunDir(), Kubeconfig: os.Getenv(holdEnv)})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
}

// held is what the holding program says about its sandbox.
type held struct {
	Child  int
	RunDir string
	// Kubeconfig is a second one, outside the run directory.
	Kubeconfig string
	parent     *exec.Cmd
}

// startHolder starts the holding program.
func startHolder(t *testing.T) held {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+filepath.Join(t.TempDir(), "config"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := held{parent: cmd}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if h.Child != 0 && alive(h.Child) {
			syscall.Kill(h.Child, syscall.SIGKILL)
		}
	})
	if err := json.NewDecoder(out).Decode(&h); err != nil {
		t.Fatalf("holding program: %v", err)
	}
	return h
}

// alive reports whether a process runs. One that is dead and not reaped, because
// its parent is dead too and nobody adopts, does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err) || !exists("/proc/self/stat")
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// eventually waits until condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after 10s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// client talks to a sandbox with nothing but what Endpoint says.
type client struct {
	t        *testing.T
	endpoint sandbox.Endpoint
	http     *http.Client
}

func newClient(t *testing.T, sb *sandbox.Sandbox) *client {
	ep := sb.Endpoint()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ep.CA) {
		t.Fatal("no certificate in the endpoint's CA")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, endpoint: ep, http: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

type object = map[string]any

// do sends a request with header lines of the form "Name: value" and returns the
// status and the decoded body.
func (c *client) do(method, path string, body object, header ...string) (int, object) {
	c.t.Helper()
	var encoded bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&encoded).Encode(body); err != nil {
			c.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.endpoint.URL+path, &encoded)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.endpoint.Token)
	req.Header.Set("Content-Type", "application/json")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if value == "" {
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var answer object
	_ = json.Unmarshal(text, &answer) // /readyz is plain text
	return resp.StatusCode, answer
}

// must is do for requests that have to succeed.
func (c *client) must(method, path string, body object) object {
	c.t.Helper()
	status, answer := c.do(method, path, body)
	if status < 200 || status > 299 {
		c.t.Fatalf("%s %s: %d %v", method, path, status, answer["message"])
	}
	return answer
}

func named(apiVersion, kind, name string) object {
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": object{"name": name}}
}

// runDirs lists the run directories of this test's user directory.
func runDirs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "kctl-ctrl", "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
