package connect

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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

// fromKubeconfig makes a config from a kubeconfig that is read once.
func fromKubeconfig(loader clientcmd.ClientConfig, wrap Wrap, limits Limits) (*rest.Config, error) {
	target, err := TargetOf(loader)
	if err != nil {
		return nil, err
	}
	return target.Config(wrap, limits)
}

func TestNoConfigWithoutAGuard(t *testing.T) {
	if _, err := fromKubeconfig(loaderFor("http://127.0.0.1:1"), nil, Limits{}); !errors.Is(err, ErrNoGuard) {
		t.Errorf("a kubeconfig without a guard: got %v, want ErrNoGuard", err)
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
	config, err := fromKubeconfig(loaderFor(server.URL), wrap, Limits{QPS: -1})
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

// The authority that was approved is the one that is used: neither a CA file nor
// a kubeconfig that changes afterwards has a say.
func TestTheApprovedAuthorityIsUsed(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"gitVersion":"v1.37.1"}`))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail on purpose
	server.StartTLS()
	defer server.Close()
	ours := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	theirs, _ := keyPair(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	for _, test := range []struct {
		name          string
		before, after []byte
		trusted       bool
	}{
		{"the server's is approved", ours, theirs, true},
		{"another is approved", theirs, ours, false},
	} {
		if err := os.WriteFile(file, test.before, 0o600); err != nil {
			t.Fatal(err)
		}
		raw := clientcmdapi.NewConfig()
		raw.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthority: file}
		raw.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
		raw.CurrentContext = "c"
		loader := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{})
		target, err := TargetOf(loader)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, test.after, 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := target.Config(pass, Limits{QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		if config.CAFile != "" || !bytes.Equal(config.CAData, test.before) {
			t.Errorf("%s: it has the file %q and the bytes %.40q", test.name, config.CAFile, config.CAData)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Discovery().ServerVersion(); (err == nil) != test.trusted {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := (Target{}).Config(pass, Limits{}); !errors.Is(err, ErrNoCluster) {
		t.Errorf("the zero Target: %v", err)
	}
	if _, err := (Target{config: &rest.Config{}}).Config(nil, Limits{}); !errors.Is(err, ErrNoGuard) {
		t.Errorf("a Target without a guard: %v", err)
	}
}

// A CA file without a certificate must not become trust in the machine's roots.
func TestEmptyAuthority(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthority: file}
	raw.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	raw.CurrentContext = "c"
	if c, err := fromKubeconfig(clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}), pass, Limits{}); err == nil {
		t.Errorf("a config was made: CAFile %q, CAData %q", c.CAFile, c.CAData)
	}
}

func TestServerOfATarget(t *testing.T) {
	for text, want := range map[string]string{
		"https://127.0.0.1:1/k8s/clusters/c-1/": "https://127.0.0.1:1",
		"https://api.example":                   "https://api.example",
		"127.0.0.1:8443":                        "http://127.0.0.1:8443",
		"https://[::1]:6443":                    "https://[::1]:6443",
	} {
		target, err := TargetOf(loaderFor(text))
		if err != nil || target.Server() != want {
			t.Errorf("%s: %q, %v; want %s", text, target.Server(), err, want)
		}
	}
}

func TestNoCluster(t *testing.T) {
	loader := clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults})
	if _, err := TargetOf(loader); !errors.Is(err, ErrNoCluster) {
		t.Errorf("got %v, want ErrNoCluster", err)
	}
	missing := filepath.Join(t.TempDir(), "typo")
	t.Setenv("KUBECONFIG", missing)
	deferred := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults})
	if _, err := TargetOf(deferred); !errors.Is(err, ErrNoCluster) || !strings.Contains(err.Error(), missing+" not found") {
		t.Errorf("got %v, want ErrNoCluster and the file", err)
	}
}

// A password in an address is a credential: it is sent as one, and is in nothing
// that is printed.
func TestUserinfoIsNoPartOfTheAddress(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		got = append(got, user+" "+password)
		_, _ = w.Write([]byte(`{"gitVersion":"v1.37.1"}`))
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	loader := func(address, proxy string, user clientcmdapi.AuthInfo) clientcmd.ClientConfig {
		raw := clientcmdapi.NewConfig()
		raw.Clusters["c"] = &clientcmdapi.Cluster{Server: address, ProxyURL: proxy}
		raw.AuthInfos["u"] = &user
		raw.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
		raw.CurrentContext = "c"
		return clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{})
	}
	for _, c := range []struct {
		address string
		user    clientcmdapi.AuthInfo
		want    string
	}{
		{"http://bob:CANARY@" + host, clientcmdapi.AuthInfo{}, "bob CANARY"},
		{"http://bob:CANARY%2F@" + host + "/k8s", clientcmdapi.AuthInfo{}, "bob CANARY/"},
		{"http://bob:CANARY@" + host, clientcmdapi.AuthInfo{Token: "other"}, "bob CANARY"},
		{"http://bob@" + host, clientcmdapi.AuthInfo{}, "bob "},
		{"http://:CANARY@" + host, clientcmdapi.AuthInfo{}, " "},
		{"bob:CANARY@" + host, clientcmdapi.AuthInfo{}, "bob CANARY"},
	} {
		target, err := TargetOf(loader(c.address, "", c.user))
		if err != nil {
			t.Fatal(err)
		}
		config, err := target.Config(pass, Limits{QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		if all := target.URL + " " + config.Host + " " + target.Server(); strings.Contains(all, "CANARY") || strings.Contains(all, "@") || !strings.Contains(target.URL, host) {
			t.Errorf("%s: its addresses are %s", c.address, all)
		}
		if !strings.Contains(c.address, "://") {
			continue // it is https then, or http, as client-go sees fit
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		if _, err := client.Discovery().ServerVersion(); err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: the server was asked by %q, %v", c.address, got, err)
		}
	}

	plugin := clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: "login", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}
	target, err := TargetOf(loader("https://bob:CANARY@"+host, "", plugin))
	if err != nil || target.config.Username != "" || target.config.ExecProvider == nil || strings.Contains(target.URL, "CANARY") {
		t.Errorf("a plugin beside a password: %+v, %v", target, err)
	}
	for _, bad := range []clientcmd.ClientConfig{
		loader("https://bob:CANARY%zz@"+host, "", clientcmdapi.AuthInfo{}),
		loader("https://bob:a CANARY/b@"+host, "", clientcmdapi.AuthInfo{}),
		loader(server.URL, "http://bob:CANARY%zz@"+host, clientcmdapi.AuthInfo{}),
		loader(server.URL, `http://bob:'"CANARY"%zz@`+host, clientcmdapi.AuthInfo{}),
		loader(server.URL, "http://bob:\nCANARY%zz@"+host, clientcmdapi.AuthInfo{}),
	} {
		if _, err := TargetOf(bad); err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("an address that cannot be read: %v", err)
		}
	}
}
