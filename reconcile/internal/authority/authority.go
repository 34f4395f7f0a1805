// Package authority makes certificate authorities that live for one run, and
// certificates signed by them. Keys are ECDSA P-256 and never leave the process
// unless a caller writes their PEM somewhere.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// lifetime of the certificates of a run; the start is an hour back, for clients
// whose clock differs (a virtual machine, a container).
const lifetime = 10 * 365 * 24 * time.Hour

// Authority is a certificate authority with its key.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority of that common name.
func New(name string, now time.Time) (*Authority, error) {
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
	return &Authority{cert: cert, key: key}, nil
}

// CertPEM is the authority's own certificate.
func (a *Authority) CertPEM() []byte { return certPEM(a.cert.Raw) }

// KeyPEM is the authority's key.
func (a *Authority) KeyPEM() ([]byte, error) { return KeyPEM(a.key) }

// Sign makes a key and a certificate for it, both as PEM.
func (a *Authority) Sign(template *x509.Certificate, now time.Time) (cert, key []byte, err error) {
	name := template.Subject.CommonName
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	c, err := issue(template, a.cert, k.Public(), a.key, now)
	if err != nil {
		return nil, nil, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	if key, err = KeyPEM(k); err != nil {
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

// KeyPEM encodes a key.
func KeyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
