package child

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	got := Environment([]string{
		"HOME=/h", "KUBECONFIG=/theirs", "KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443", "NO_PROXY=example.com", "no_proxy=*", "odd",
	}, "/ours")
	want := []string{"HOME=/h", "odd", "KUBECONFIG=/ours", "NO_PROXY=example.com,127.0.0.1", "no_proxy=*"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
