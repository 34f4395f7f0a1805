package main

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// gate passes connections on to an API server until it is shut: then it drops
// those that it has and accepts none, as a server that was killed.
type gate struct {
	to string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]struct{}
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	g := &gate{to: to, open: map[net.Conn]struct{}{}}
	g.openAt(t, "127.0.0.1:0")
	t.Cleanup(g.shut)
	return g
}

func (g *gate) openAt(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.listener = listener
	g.mu.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go g.pass(from)
			}
		}
	}()
}

func (g *gate) pass(from net.Conn) {
	to, err := net.Dial("tcp", g.to)
	if err != nil {
		_ = from.Close()
		return
	}
	g.mu.Lock()
	g.open[from], g.open[to] = struct{}{}, struct{}{}
	g.mu.Unlock()
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	_, _ = io.Copy(from, to)
	_ = from.Close()
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.listener.Close()
	for c := range g.open {
		_ = c.Close()
	}
	clear(g.open)
}

// liveSandbox is a sandbox with kubectl for it.
type liveSandbox struct {
	t          *testing.T
	kubeconfig string
}

// kubectl runs kubectl, which this test binary is too.
func (s *liveSandbox) kubectl(args ...string) string {
	s.t.Helper()
	command := s.command("kubectl", args...)
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (s *liveSandbox) command(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	return command
}

// through makes a kubeconfig that leads to the sandbox by way of a gate.
func (s *liveSandbox) through() (*gate, string) {
	s.t.Helper()
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		s.t.Fatal(err)
	}
	g := newGate(s.t, server.Host)
	server.Host = g.listener.Addr().String()
	cluster.Server = server.String()
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		s.t.Fatal(err)
	}
	return g, path
}

// When the API server goes, the screen says so and since when, and calls its data
// stale; when it is back, what happened meanwhile is there without a restart.
func TestScreenOutlivesTheAPIServer(t *testing.T) {
	testbed.Parallel(t)
	s := &liveSandbox{t: t, kubeconfig: testbed.Kubeconfig(t, testbed.Share(t).Sandbox)}
	s.kubectl("create", "configmap", "before")
	g, kubeconfig := s.through()
	x := onTerminal(t, 120, 30, "tui", "--kubeconfig", kubeconfig)
	x.shows("OBSERVING", "0 of 49 running").press(":configmaps<enter>").shows("cache of configmaps", "before")

	g.shut()
	x.shows("NO ANSWER FROM THE API SERVER", "STALE", "before")
	s.kubectl("create", "configmap", "meanwhile")
	g.openAt(t, g.listener.Addr().String())
	x.shows("meanwhile")
	x.until(func(picture string) bool { return !strings.Contains(picture, "NO ANSWER") }, "that the server is back")
	// Whether it had to list again is client-go's decision: a watch that is only
	// refused goes on where it was.
	x.press("<esc>").matches(`configmaps +(synced|relisted) `)
	x.press("q")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
}
