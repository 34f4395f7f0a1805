package queues

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
)

// controlPlane stands for an API server with two kube-controller-managers, of
// which b leads, and for the kubelet that forwards ports to their metrics.
type controlPlane struct {
	*httptest.Server
	metrics *httptest.Server

	mu       sync.Mutex
	requests []string
	tokens   []string // that reached the metrics
}

func newControlPlane(t *testing.T) *controlPlane {
	t.Helper()
	c := &controlPlane{}
	c.metrics = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.tokens = append(c.tokens, r.Header.Get("Authorization"))
		c.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "workqueue_depth{name=\"deployment\"} 4\n")
	}))
	t.Cleanup(c.metrics.Close)
	c.Server = httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Server.Close)
	return c
}

func (c *controlPlane) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests = append(c.requests, r.Method+" "+r.URL.Path)
	c.mu.Unlock()
	path, ours := strings.CutPrefix(r.URL.Path, "/k8s/clusters/c-1")
	if !ours || r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	pod := func(node string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"namespace": "kube-system", "name": "kube-controller-manager-" + node},
			"spec":     map[string]any{"nodeName": node},
			"status":   map[string]any{"phase": "Running"},
		}
	}
	var answer map[string]any
	switch path {
	case "/api/v1/namespaces/kube-system/pods":
		answer = map[string]any{"kind": "PodList", "apiVersion": "v1", "items": []any{pod("a"), pod("b")}}
	case "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager":
		answer = map[string]any{"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "spec": map[string]any{"holderIdentity": "b_1234"}}
	case "/api/v1/namespaces/kube-system/pods/kube-controller-manager-b/portforward":
		c.forward(w, r)
		return
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (c *controlPlane) forward(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		if s.Headers().Get(corev1.StreamType) != corev1.StreamTypeData {
			return nil
		}
		if s.Headers().Get(corev1.PortHeader) != "10257" {
			return fmt.Errorf("port %s", s.Headers().Get(corev1.PortHeader))
		}
		go func() {
			<-replied
			defer s.Reset()
			to, err := net.Dial("tcp", c.metrics.Listener.Addr().String())
			if err != nil {
				return
			}
			defer to.Close()
			go func() { _, _ = io.Copy(to, s) }()
			_, _ = io.Copy(s, to)
		}()
		return nil
	})
	if connection != nil {
		<-connection.CloseChan()
	}
}

func (c *controlPlane) kubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   c.URL + "/k8s/clusters/c-1",
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "secret"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// The whole way to the leader's metrics: lease, pod, port-forward through the
// guard, TLS inside it. The user's token goes to the API server, and to a process
// that cannot prove who it is only with --insecure-metrics.
func TestMetricsFromLeader(t *testing.T) {
	c := newControlPlane(t)
	args := []string{"--kubeconfig", c.kubeconfig(t), "--metrics-from=kube-controller-manager", "--interval=1ms"}

	code, stdout, stderr := ask(t.Context(), args...)
	if code != exit.Failed || !strings.Contains(stderr, "use --insecure-metrics to send it anyway") || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
		t.Errorf("without leave to send the token: code %d, %q, %q", code, stdout, stderr)
	}
	if slices.Contains(c.tokens, "Bearer secret") {
		t.Errorf("the token went to the pod: %q", c.tokens)
	}

	code, stdout, stderr = ask(t.Context(), append(args, "--insecure-metrics", "-o", "json")...)
	if code != exit.OK || stderr != "" || !strings.Contains(stdout, `"source": "pod kube-system/kube-controller-manager-b, port 10257"`) || !strings.Contains(stdout, `"depth": 4`) {
		t.Errorf("with it: code %d, %q, %q", code, stdout, stderr)
	}

	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.metrics.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.metrics.TLS == (*tls.Config)(nil) {
		t.Fatal("the metrics are not encrypted")
	}
	// The certificate is of that authority, but not for localhost.
	code, _, stderr = ask(t.Context(), append(args, "--metrics-ca", ca)...)
	if code != exit.Failed || !strings.Contains(stderr, "cannot verify its certificate") {
		t.Errorf("with an authority: code %d, %q", code, stderr)
	}
	for _, request := range c.requests {
		if strings.Contains(request, "kube-controller-manager-a/") || strings.HasPrefix(request, "PUT") || strings.HasPrefix(request, "DELETE") {
			t.Errorf("it asked for %s", request)
		}
	}
}
