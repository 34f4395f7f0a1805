package connect

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestContextsTo(t *testing.T) {
	ours, _ := keyPair(t)
	theirs, _ := keyPair(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, theirs, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		target, also clientcmdapi.Cluster
		same         bool
	}{
		{"the same", clientcmdapi.Cluster{Server: "https://prod.example:6443"}, clientcmdapi.Cluster{Server: "https://prod.example:6443"}, true},
		{"in another spelling", clientcmdapi.Cluster{Server: "https://prod.example"}, clientcmdapi.Cluster{Server: "https://PROD.example.:443/"}, true},
		{"without a scheme", clientcmdapi.Cluster{Server: "https://prod.example:6443"}, clientcmdapi.Cluster{Server: "prod.example:6443"}, true},
		{"loopback", clientcmdapi.Cluster{Server: "https://localhost:6443"}, clientcmdapi.Cluster{Server: "https://127.0.0.1:6443"}, true},
		{"the unspecified address", clientcmdapi.Cluster{Server: "https://0.0.0.0:6443"}, clientcmdapi.Cluster{Server: "https://127.0.0.1:6443"}, true},
		{"the unspecified address of IPv6", clientcmdapi.Cluster{Server: "https://localhost:6443"}, clientcmdapi.Cluster{Server: "https://[::]:6443"}, true},
		{"the unspecified address, mapped", clientcmdapi.Cluster{Server: "https://[::ffff:0.0.0.0]:6443"}, clientcmdapi.Cluster{Server: "https://0.0.0.0:6443"}, true},
		{"loopback, mapped", clientcmdapi.Cluster{Server: "https://[::1]:6443"}, clientcmdapi.Cluster{Server: "https://[::ffff:127.0.0.1]:6443"}, true},
		{"an address of IPv6", clientcmdapi.Cluster{Server: "https://[2001:db8::1]:6443"}, clientcmdapi.Cluster{Server: "https://[2001:DB8:0::1]:6443"}, true},
		{"a slash at the end", clientcmdapi.Cluster{Server: "https://proxy.example/k8s/clusters/c-1"}, clientcmdapi.Cluster{Server: "https://proxy.example/k8s/clusters/c-1/"}, true},
		{"another path", clientcmdapi.Cluster{Server: "https://proxy.example/k8s/clusters/c-1"}, clientcmdapi.Cluster{Server: "https://proxy.example/k8s/clusters/c-2"}, false},
		{"another host", clientcmdapi.Cluster{Server: "https://prod.example"}, clientcmdapi.Cluster{Server: "https://staging.example"}, false},
		{"another port", clientcmdapi.Cluster{Server: "https://prod.example:6443"}, clientcmdapi.Cluster{Server: "https://prod.example"}, false},
		{"one authority", clientcmdapi.Cluster{Server: "https://prod.example", CertificateAuthorityData: ours}, clientcmdapi.Cluster{Server: "https://prod.example", CertificateAuthorityData: ours}, true},
		{"one authority of two", clientcmdapi.Cluster{Server: "https://prod.example", CertificateAuthorityData: slices.Concat(theirs, ours)}, clientcmdapi.Cluster{Server: "https://prod.example", CertificateAuthorityData: ours}, true},
		{"an authority on one side", clientcmdapi.Cluster{Server: "https://prod.example", CertificateAuthorityData: ours}, clientcmdapi.Cluster{Server: "https://prod.example"}, true},
		{"unchecked on one side", clientcmdapi.Cluster{Server: "https://prod.example", CertificateAuthorityData: ours}, clientcmdapi.Cluster{Server: "https://prod.example", InsecureSkipTLSVerify: true}, true},
		{"two authorities", clientcmdapi.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthorityData: ours}, clientcmdapi.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthorityData: theirs}, false},
		{"two authorities, one in a file", clientcmdapi.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthorityData: ours}, clientcmdapi.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthority: file}, false},
		{"a file that is gone", clientcmdapi.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthorityData: ours}, clientcmdapi.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthority: file + ".gone"}, true},
	} {
		config := clientcmdapi.NewConfig()
		config.Clusters["target"], config.Clusters["also"] = &c.target, &c.also
		config.Contexts["here"] = &clientcmdapi.Context{Cluster: "target"}
		config.Contexts["there"] = &clientcmdapi.Context{Cluster: "also"}
		config.Contexts["nowhere"] = &clientcmdapi.Context{Cluster: "nosuch"}
		config.CurrentContext = "here"
		target, err := TargetOf(clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{}))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := []string{"here"}
		if c.same {
			want = []string{"here", "there"}
		}
		if got := target.ContextsTo(*config); !slices.Equal(got, want) {
			t.Errorf("%s: %q lead there, want %q", c.name, got, want)
		}
	}
	if got := (Target{}).ContextsTo(clientcmdapi.Config{}); len(got) != 0 {
		t.Errorf("the zero Target: %q", got)
	}
}
