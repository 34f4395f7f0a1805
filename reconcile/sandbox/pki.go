package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// lifetime of the certificates of a run; the start is an hour back, for clients
// whose clock differs (a virtual machine, a container).
const lifetime = 10 * 365 * 24 * time.Hour

// credentials are what a control plane and its clients need of keys. They are
// new for each run.
type credentials struct {
	serverCA []byte            // PEM
	token    string            // of a member of system:masters
	files    map[string][]byte // for the run directory, by name
}

// newCredentials makes two authorities: one for the server's certificate, whose
// key is not kept, and one for clients, whose key the csrsigning controller
// needs. One authority for both would let everyone who may approve a
// CertificateSigningRequest pose as the server.
func newCredentials(now time.Time, serviceIP net.IP) (*credentials, error) {
	serverCA, err := newAuthority("kctl-ctrl-sandbox-server-ca", now)
	if err != nil {
		return nil, err
	}
	clientCA, err := newAuthority("kctl-ctrl-sandbox-client-ca", now)
	if err != nil {
		return nil, err
	}
	servingCert, servingKey, err := serverCA.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), serviceIP},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, now)
	if err != nil {
		return nil, err
	}
	clientCAKey, err := privatePEM(clientCA.key)
	if err != nil {
		return nil, err
	}
	saKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate service account key: %w", err)
	}
	saPrivate, err := privatePEM(saKey)
	if err != nil {
		return nil, err
	}
	saPublic, err := x509.MarshalPKIXPublicKey(saKey.Public())
	if err != nil {
		return nil, fmt.Errorf("encode service account key: %w", err)
	}
	token := rand.Text()
	return &credentials{
		serverCA: serverCA.certPEM(),
		token:    token,
		files: map[string][]byte{
			wire.ServerCAFile:    serverCA.certPEM(),
			wire.ServingCertFile: servingCert,
			wire.ServingKeyFile:  servingKey,
			wire.ClientCAFile:    clientCA.certPEM(),
			wire.ClientCAKeyFile: clientCAKey,
			wire.SAPrivateFile:   saPrivate,
			wire.SAPublicFile:    pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: saPublic}),
			wire.TokensFile:      fmt.Appendf(nil, "%s,%s,%s,\"system:masters\"\n", token, adminUser, adminUser),
		},
	}, nil
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	cert, err := issue(template, template, key.Public(), key, now)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	return &authority{cert: cert, key: key}, nil
}

func (a *authority) certPEM() []byte { return certPEM(a.cert.Raw) }

// sign makes a key and a certificate for it, both as PEM.
func (a *authority) sign(template *x509.Certificate, now time.Time) (cert, key []byte, err error) {
	name := template.Subject.CommonName
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	c, err := issue(template, a.cert, k.Public(), a.key, now)
	if err != nil {
		return nil, nil, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	if key, err = privatePEM(k); err != nil {
		return nil, nil, err
	}
	return certPEM(c.Raw), key, nil
}

func issue(template, parent *x509.Certificate, public any, signer *ecdsa.PrivateKey, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = now.Add(-time.Hour)
	template.NotAfter = now.Add(lifetime)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func privatePEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
