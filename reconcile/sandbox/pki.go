package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/internal/authority"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// credentials are the keys and certificates of a control plane and its clients. They
// are new for each run.
type credentials struct {
	serverCA []byte            // PEM
	token    string            // of a member of system:masters
	files    map[string][]byte // for the run directory, by name
}

// newCredentials creates two authorities: one for the server's certificate, whose key
// is not kept, and one for clients, whose key the csrsigning controller needs. With a
// single authority, everyone who may approve a CertificateSigningRequest could
// impersonate the server.
func newCredentials(now time.Time, serviceIP net.IP) (*credentials, error) {
	serverCA, err := authority.New("kctl-ctrl-sandbox-server-ca", now)
	if err != nil {
		return nil, err
	}
	clientCA, err := authority.New("kctl-ctrl-sandbox-client-ca", now)
	if err != nil {
		return nil, err
	}
	servingCert, servingKey, err := serverCA.Sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), serviceIP},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, now)
	if err != nil {
		return nil, err
	}
	clientCAKey, err := clientCA.KeyPEM()
	if err != nil {
		return nil, err
	}
	saKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate service account key: %w", err)
	}
	saPrivate, err := authority.KeyPEM(saKey)
	if err != nil {
		return nil, err
	}
	saPublic, err := x509.MarshalPKIXPublicKey(saKey.Public())
	if err != nil {
		return nil, fmt.Errorf("encode service account key: %w", err)
	}
	token := rand.Text()
	return &credentials{
		serverCA: serverCA.CertPEM(),
		token:    token,
		files: map[string][]byte{
			wire.ServerCAFile:    serverCA.CertPEM(),
			wire.ServingCertFile: servingCert,
			wire.ServingKeyFile:  servingKey,
			wire.ClientCAFile:    clientCA.CertPEM(),
			wire.ClientCAKeyFile: clientCAKey,
			wire.SAPrivateFile:   saPrivate,
			wire.SAPublicFile:    pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: saPublic}),
			wire.TokensFile:      fmt.Appendf(nil, "%s,%s,%s,\"system:masters\"\n", token, adminUser, adminUser),
		},
	}, nil
}
