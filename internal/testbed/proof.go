// Package testbed has what tests of the engine and of the program share: control planes
// that are used by one test after the other, what a test does to them, and the records by
// which it sees what others did. No program imports this package.
package testbed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/ownfile"
)

// Proof is a sandbox without nodes, scheduler or controllers. What somebody did to it is
// read from the API server's audit log and from etcd: neither knows of the guard.
type Proof struct {
	*sandbox.Sandbox
	AuditFrom int64 // where its audit log begins
	Etcd      *clientv3.Client
}

// NewProof is on a shared sandbox.
func NewProof(t *testing.T) *Proof {
	t.Helper()
	s := Share(t)
	p := &Proof{Sandbox: s.Sandbox, AuditFrom: s.AuditFrom}
	p.Dial(t)
	return p
}

// Options are those of its API server.
func Options(gates map[string]bool) sandbox.Options {
	return sandbox.Options{
		Audit: sandbox.AuditRequest,
		// They would do in the seeds what is for the loops to do.
		DisableAdmission: []string{"ServiceAccount", "TaintNodesByCondition", "StorageObjectInUseProtection"},
		FeatureGates:     gates, ExtraArgs: []string{"--runtime-config=api/all=true"},
	}
}

// Dial connects to etcd.
func (p *Proof) Dial(t *testing.T) {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{p.EtcdEndpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	p.Etcd = etcd
}

// Client writes for real, as the user agent that mutations leaves out.
func (p *Proof) Client(t *testing.T) kubernetes.Interface {
	t.Helper()
	return SeedClient(t, p.Sandbox)
}

// Config is that of Client.
func (p *Proof) Config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := SeedConfig(p.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// AuditFile is a new file for the audit log of a sandbox, which takes it over.
func AuditFile(t testing.TB) *os.File {
	t.Helper()
	file, err := ownfile.Create(filepath.Join(t.TempDir(), "audit.log"), false)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
