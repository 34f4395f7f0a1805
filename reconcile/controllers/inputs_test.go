package controllers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// complete parses flags as a command would and completes them.
func complete(t testing.TB, in Inputs, args ...string) *componentConfig {
	t.Helper()
	o, err := NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet(t.Name(), pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	c, err := o.Complete(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clusterInputs are the three inputs and the CA that a sandbox would supply.
type clusterInputs struct {
	Inputs
	rootCA []byte
}

func testInputs(t *testing.T) clusterInputs {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "test"}, key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, err := certutil.EncodeCertificates(cert)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keyFile := write("ca.key", keyPEM)
	return clusterInputs{rootCA: certPEM, Inputs: Inputs{
		SigningCertFile: write("ca.crt", certPEM), SigningKeyFile: keyFile,
		ServiceAccountKeyFile: keyFile, ClusterCIDR: "10.0.0.0/16", ServiceCIDR: "10.1.0.0/16",
	}}
}
