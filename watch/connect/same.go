package connect

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ContextsTo are the contexts of a kubeconfig, by name, that refer to t's server: those
// with the same host, port and path, however spelled, unless both specify certificate
// authorities that are unrelated, as for clusters behind tunnels at the same local
// port. In doubt it is the same server. A server with two addresses counts as two.
func (t Target) ContextsTo(kubeconfig clientcmdapi.Config) []string {
	here, err := url.Parse(t.origin + t.Path())
	if err != nil || t.origin == "" {
		return nil
	}
	var out []string
	for name, context := range kubeconfig.Contexts {
		cluster := kubeconfig.Clusters[context.Cluster]
		if cluster == nil {
			continue
		}
		ca := authorityOf(cluster)
		there, _, err := rest.DefaultServerURL(cluster.Server, "", schema.GroupVersion{}, len(ca) > 0 || cluster.InsecureSkipTLSVerify)
		if err != nil || place(there) != place(here) || unrelated(t.CA, ca) {
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// place is host, port and path in canonical spelling. The loopback names of this
// machine, including the unspecified address, are equal; the scheme is ignored, because
// a port has one server.
func place(u *url.URL) string {
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if ip, err := netip.ParseAddr(host); err == nil {
		// Connecting to the unspecified address reaches this machine.
		if host = ip.Unmap().String(); ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified() {
			host = "localhost"
		}
	}
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return host + " " + port + " " + path.Clean("/"+u.Path)
}

// authorityOf is the PEM bundle that verifies a server; empty if there is none or it is
// unreadable.
func authorityOf(c *clientcmdapi.Cluster) []byte {
	switch {
	case c.InsecureSkipTLSVerify:
		return nil
	case len(c.CertificateAuthorityData) > 0 || c.CertificateAuthority == "":
		return c.CertificateAuthorityData
	}
	ca, err := os.ReadFile(c.CertificateAuthority)
	if err != nil {
		return nil
	}
	return ca
}

// unrelated reports whether both bundles exist, share no certificate, and neither
// signed a certificate of the other.
func unrelated(a, b []byte) bool {
	these, those := certificates(a), certificates(b)
	if len(these) == 0 || len(those) == 0 {
		return false
	}
	for _, x := range these {
		for _, y := range those {
			if bytes.Equal(x.Raw, y.Raw) || x.CheckSignatureFrom(y) == nil || y.CheckSignatureFrom(x) == nil {
				return false
			}
		}
	}
	return true
}

func certificates(bundle []byte) (out []*x509.Certificate) {
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
	return out
}
