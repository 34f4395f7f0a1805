package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

// Candidates of coordinated leader election, from an API server that serves
// them, which none does by default.
func TestLeaseCandidates(t *testing.T) {
	testbed.NeedsSandbox(t)
	sb, err := sandbox.Start(t.Context(), sandbox.Options{
		FeatureGates: map[string]bool{"CoordinatedLeaderElection": true},
		ExtraArgs:    []string{"--runtime-config=coordination.k8s.io/v1beta1=true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(context.Background()) })
	client := testbed.SeedClient(t, sb)
	holder, seconds := "shop-operator-1", int32(3600)
	now := metav1.NowMicro()
	if _, err := client.CoordinationV1().Leases("default").Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-operator"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, version := range map[string]string{"shop-operator-1": "1.2.0", "shop-operator-2": "1.3.0"} {
		if _, err := client.CoordinationV1beta1().LeaseCandidates("default").Create(t.Context(), &coordinationv1beta1.LeaseCandidate{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: coordinationv1beta1.LeaseCandidateSpec{
				LeaseName: "shop-operator", BinaryVersion: version, EmulationVersion: version, Strategy: coordinationv1.OldestEmulationVersion, RenewTime: &now,
			},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig, err := sb.WriteKubeconfig(filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call(t, "get", "leases", "--kubeconfig", kubeconfig, "-n", "default")
	if code != 0 || strings.Contains(stderr, "candidates are not shown") {
		t.Fatalf("code %d, %q", code, stderr)
	}
	_, candidates, found := strings.Cut(stdout, "\n\n")
	if !found || !strings.Contains(candidates, "shop-operator-1") || !strings.Contains(candidates, "1.3.0") {
		t.Errorf("no candidates in\n%s", stdout)
	}
	code, stdout, stderr = call(t, "get", "leases", "--kubeconfig", kubeconfig, "-n", "default", "-o", "jsonpath={range .candidates[*]}{.name} {.binaryVersion}{\"\\n\"}{end}")
	if want := "shop-operator-1 1.2.0\nshop-operator-2 1.3.0\n"; code != 0 || stdout != want {
		t.Errorf("code %d, %q, want %q: %s", code, stdout, want, stderr)
	}
}
