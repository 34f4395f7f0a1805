package connect

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func loaderFor(server string) clientcmd.ClientConfig {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	return clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{})
}

func TestNoConfigWithoutAGuard(t *testing.T) {
	if _, err := Kubeconfig(loaderFor("http://127.0.0.1:1"), nil, Limits{}); !errors.Is(err, ErrNoGuard) {
		t.Errorf("Kubeconfig without a guard: got %v, want ErrNoGuard", err)
	}
	if _, err := Server(Endpoint{URL: "https://127.0.0.1:1", CA: []byte("x")}, nil, Limits{}); !errors.Is(err, ErrNoGuard) {
		t.Errorf("Server without a guard: got %v, want ErrNoGuard", err)
	}
}

func TestServerNeedsAnAuthority(t *testing.T) {
	pass := func(rt http.RoundTripper) http.RoundTripper { return rt }
	if _, err := Server(Endpoint{URL: "https://127.0.0.1:1"}, pass, Limits{}); err == nil {
		t.Error("an endpoint without a CA was accepted")
	}
}

// Every client derived from a config, from a copy of it, or under another user
// agent goes through the guard.
func TestGuardStaysAroundDerivedClients(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"NamespaceList","apiVersion":"v1"}`))
	}))
	defer server.Close()
	var agents []string
	wrap := func(rt http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			agents = append(agents, r.Header.Get("User-Agent"))
			return rt.RoundTrip(r)
		})
	}
	config, err := Kubeconfig(loaderFor(server.URL), wrap, Limits{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	derived := rest.CopyConfig(config)
	derived.UserAgent = "kctl-ctrl/deployment-controller"
	for _, c := range []*rest.Config{config, derived} {
		client, err := kubernetes.NewForConfig(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces").DoRaw(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(agents) != 2 || agents[0] != "kctl-ctrl" || agents[1] != "kctl-ctrl/deployment-controller" {
		t.Errorf("the guard saw the user agents %q", agents)
	}
}

func TestTargetOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, []byte("from the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := func(cluster clientcmdapi.Cluster) (Target, error) {
		config := clientcmdapi.NewConfig()
		config.Clusters["c"] = &cluster
		config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
		config.CurrentContext = "c"
		return TargetOf(clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{}))
	}
	for _, c := range []struct {
		name    string
		cluster clientcmdapi.Cluster
		ca      string
		path    string
	}{
		{"inline", clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthorityData: []byte("inline")}, "inline", ""},
		{"file", clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthority: file}, "from the file", ""},
		{"none", clientcmdapi.Cluster{Server: "https://127.0.0.1:1/k8s/clusters/c-1/"}, "", "/k8s/clusters/c-1"},
		{"unchecked", clientcmdapi.Cluster{Server: "https://127.0.0.1:1", InsecureSkipTLSVerify: true}, "", ""},
	} {
		got, err := target(c.cluster)
		if err != nil || string(got.CA) != c.ca || got.Path() != c.path {
			t.Errorf("%s: got %+v with path %q, %v", c.name, got, got.Path(), err)
		}
	}
	if _, err := target(clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthority: file + ".gone"}); err == nil {
		t.Error("a missing CA file was not an error")
	}
}

func TestNoCluster(t *testing.T) {
	loader := clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults})
	if _, err := TargetOf(loader); !errors.Is(err, ErrNoCluster) {
		t.Errorf("got %v, want ErrNoCluster", err)
	}
}
