package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
)

// ErrNoGrant is returned for ModeActive without a grant.
var ErrNoGrant = errors.New("active mode writes for real and needs a grant: the embedded control plane gives one, or an election for the lease of kube-controller-manager")

// Grant is a permission to write for real on one server: a SandboxGrant, an
// ElectionGrant or a LeaseGrant. Their zero values permit nothing, and no other
// package can make a Grant.
type Grant interface {
	fmt.Stringer
	valid() bool
	// origin is the server, as originOf spells it.
	origin() string
	// admits says why a write must not leave, or nothing.
	admits(*Guard, *http.Request, request.Request) string
	// door is the Gate to be asked last; nil is none.
	door() Gate
}

// SandboxGrant is the permission to write for real on one embedded control
// plane. It comes from GrantSandbox; the zero SandboxGrant permits nothing.
type SandboxGrant struct {
	host        string
	fingerprint string
}

// GrantSandbox gives the permission to write to the server at serverURL, if
// recognise says that ca, the authority that must have signed the server's
// certificate, belongs to a sandbox of this user. The authority is what counts:
// an address or a name can be shared or forged. The address is kept as well so
// that one guard cannot be put under two servers by mistake.
//
// The caller must connect with ca as the only trusted authority.
func GrantSandbox(serverURL string, ca []byte, recognise func(ca []byte) bool) (SandboxGrant, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return SandboxGrant{}, fmt.Errorf("grant active mode on %q: %w", serverURL, err)
	}
	switch {
	case u.Scheme != "https" || u.Host == "":
		return SandboxGrant{}, fmt.Errorf("grant active mode on %q: not an https address", serverURL)
	case len(ca) == 0:
		return SandboxGrant{}, fmt.Errorf("grant active mode on %s: no certificate authority to recognise it by", u.Host)
	case recognise == nil || !recognise(ca):
		return SandboxGrant{}, fmt.Errorf("grant active mode on %s: its certificate authority is not that of a sandbox of this user", u.Host)
	}
	sum := sha256.Sum256(ca)
	return SandboxGrant{host: u.Host, fingerprint: hex.EncodeToString(sum[:])}, nil
}

// valid reports whether the grant came from GrantSandbox.
func (g SandboxGrant) valid() bool { return g.host != "" && g.fingerprint != "" }

func (g SandboxGrant) origin() string { return originOf("https", g.host) }

func (g SandboxGrant) admits(*Guard, *http.Request, request.Request) string { return "" }

func (g SandboxGrant) door() Gate { return nil }

// String names the server and the beginning of its authority's SHA-256.
func (g SandboxGrant) String() string {
	if !g.valid() {
		return "no grant"
	}
	return fmt.Sprintf("sandbox %s (authority %s)", g.host, g.fingerprint[:12])
}
