package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The election of these tests is quick: the figures are the shortest that client-go
// and package election take.
const (
	shortLease    = 4 * time.Second
	shortDeadline = 2 * time.Second
	// writers are the goroutines of an instance that write: the deployment loop's
	// workers, and its recorder of events.
	writers    = 5 + 1
	shortRetry = time.Second
)

// electionArgs are the flags for it.
func electionArgs() []string {
	return []string{
		"--leader-elect-lease-duration=" + shortLease.String(),
		"--leader-elect-renew-deadline=" + shortDeadline.String(),
		"--leader-elect-retry-period=" + shortRetry.String(),
	}
}

// contested is a cluster for which several processes compete: an API server that
// keeps an audit log, without loops. Nobody but the test knows it for a sandbox.
type contested struct {
	*testbed.Sandbox
	client kubernetes.Interface

	// known is what requests has read of the audit log, read so far.
	known []auditedWrite
	read  int64
}

const contestedContext = "contested"

func newContested(t *testing.T) *contested {
	t.Helper()
	s := testbed.Share(t)
	return &contested{Sandbox: s, client: testbed.SeedClient(t, s.Sandbox), read: s.AuditFrom}
}

// way is an instance's own way to the cluster: a proxy that has the API server know
// the instance by a user's name, and can hold requests up.
type way struct {
	name       string
	kubeconfig string

	mu sync.Mutex
	// meddle answers a request in place of the server, where it returns true.
	meddle func(http.ResponseWriter, *http.Request) bool
	// recordings are the files in which instances have recorded what they did.
	recordings []string
}

func (c *contested) way(t *testing.T, name string) *way {
	t.Helper()
	endpoint := c.Endpoint()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(endpoint.CA)
	to, err := url.Parse(endpoint.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &way{name: name, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Authorization", "Bearer "+endpoint.Token)
			r.Out.Header.Set("Impersonate-User", name)
			r.Out.Header.Set("Impersonate-Group", "system:masters")
		},
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 50},
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		meddle := w.meddle
		w.mu.Unlock()
		if meddle == nil || !meddle(out, r) {
			proxy.ServeHTTP(out, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{}
	config.Contexts[contestedContext] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = contestedContext
	if err := clientcmd.WriteToFile(*config, w.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *way) set(meddle func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meddle = meddle
}

// isLease recognises requests about the lease.
func isLease(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }

// holdUp keeps a request until its client gives it up.
func holdUp(_ http.ResponseWriter, r *http.Request) bool {
	if !isLease(r) {
		return false
	}
	// Only behind the body is the end of the connection seen.
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	return true
}

// pretend answers a renewal as if it had been carried out, and does not: the gate of
// the election is kept open by nothing.
func pretend(w http.ResponseWriter, r *http.Request) bool {
	if !isLease(r) || r.Method != http.MethodPut {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	_, _ = w.Write(body)
	return true
}

// tooMany answers with 429.
func tooMany(w http.ResponseWriter, r *http.Request) bool {
	if !isLease(r) {
		return false
	}
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
	return true
}

// keepBusy creates Deployments and changes them for as long as the test lasts, so
// that whoever leads always has something to write.
func (c *contested) keepBusy(t *testing.T, names ...string) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	for _, name := range names {
		_, err := c.client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() {
		tick := time.NewTicker(25 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d},"metadata":{"annotations":{"turn":"%d"}}}`, i%3, i)
			_, _ = c.client.AppsV1().Deployments("default").Patch(ctx, names[i%len(names)], types.MergePatchType, patch, metav1.PatchOptions{})
		}
	})
	t.Cleanup(func() { cancel(); busy.Wait() })
}

// inProcess starts a session of active mode in this process, that nothing stops
// when the lease is lost: only the guard stands between its loops and the cluster.
// end ends it, and its recording.
func inProcess(t *testing.T, w *way, with ...func(*engine.Spec)) (s *engine.Engine, end func()) {
	t.Helper()
	o := &engineflags.Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{}
	o.AddTo(cmd)
	args := append([]string{"--active", "--confirm=" + contestedContext, "--controllers=deployment", "--kube-api-qps=-1", "--kubeconfig=" + w.kubeconfig}, electionArgs()...)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	spec, err := o.Spec(state.ModeActive, engine.Approvals{})
	if err != nil {
		t.Fatal(err)
	}
	for _, prepare := range with {
		prepare(&spec)
	}
	if s, err = testEngine(t, spec); err != nil {
		t.Fatal(err)
	}
	w.recordings = append(w.recordings, filepath.Join(t.TempDir(), "journal.jsonl"))
	recorded, err := (&engineflags.Recording{File: w.recordings[0]}).Start(s)
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { engineflags.ShutDown(s, os.Stderr); recorded.Wait() })
	t.Cleanup(end)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, end
}

// awaitWrites waits until the journal has so many writes of a result after from.
func awaitWrites(t *testing.T, s *engine.Engine, result state.WriteResult, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	journal := s.Journal().Subscribe(0)
	for seen := 0; seen < n; {
		entries, err := journal.Next(ctx)
		if err != nil {
			t.Fatalf("%d writes are %s, want %d: %v", seen, result, n, err)
		}
		for _, e := range entries {
			if w, ok := e.Event.(state.WriteFinished); ok && w.Result == result && w.Controller == "deployment-controller" {
				seen++
			}
		}
	}
}

// instance is a kctl-ctrl process that competes for the lease.
type instance struct {
	*exec.Cmd
	*way
	stderr bytes.Buffer

	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed when a line has come, or the end
	ended bool
}

// start runs an instance: run --active on the contested cluster.
func (w *way) start(t *testing.T, args ...string) *instance {
	t.Helper()
	args = append(append([]string{"run", "--active", "--confirm=" + contestedContext, "--kubeconfig=" + w.kubeconfig}, electionArgs()...), args...)
	w.recordings = append(w.recordings, filepath.Join(t.TempDir(), "journal.jsonl"))
	args = append(args, "--record="+w.recordings[len(w.recordings)-1])
	p := &instance{Cmd: program(t, args...), way: w, more: make(chan struct{})}
	p.Env = append(p.Env, "XDG_CONFIG_HOME="+t.TempDir(), "KCTL_CTRL_ATTACH_DIR="+t.TempDir())
	p.Stderr = &p.stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	go func() {
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			p.add(scanner.Text(), false)
		}
		p.add("", true)
	}()
	return p
}

func (p *instance) add(line string, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !end {
		p.lines = append(p.lines, line)
	}
	p.ended = p.ended || end
	close(p.more)
	p.more = make(chan struct{})
}

// says waits for a line of the journal.
func (p *instance) says(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		p.mu.Lock()
		found := slices.ContainsFunc(p.lines, func(l string) bool { return strings.Contains(l, text) })
		ended, more := p.ended, p.more
		last := strings.Join(p.lines[max(0, len(p.lines)-20):], "\n")
		p.mu.Unlock()
		if found {
			return
		}
		if ended {
			t.Fatalf("%s ended without saying %q:\n%s\n%s", p.name, text, last, p.stderr.String())
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("%s does not say %q:\n%s", p.name, text, last)
		}
	}
}

// exits waits for the end, which has to have a code.
func (p *instance) exits(t *testing.T, code int) {
	t.Helper()
	for {
		p.mu.Lock()
		ended, more := p.ended, p.more
		p.mu.Unlock()
		if ended {
			break
		}
		<-more // the context of the process bounds it
	}
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != code {
		t.Errorf("%s ended with %d, want %d:\n%s", p.name, got, code, p.stderr.String())
	}
}

// await polls for what only the API server knows.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}
