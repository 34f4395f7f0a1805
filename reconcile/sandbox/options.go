package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// Options says what control plane is wanted. The zero value is a good one.
type Options struct {
	// KubernetesVersion is the minor version to behave like, one of Versions,
	// with or without "v". Empty means the version that is linked in. The gates
	// of the calling process are not touched: see package emulation.
	KubernetesVersion string

	// FeatureGates are passed to kube-apiserver.
	FeatureGates map[string]bool

	// Audit switches kube-apiserver's audit log on.
	Audit AuditLevel
	// AuditLog is where it goes: a file of the caller's, open for writing, which Start
	// takes over and closes, and which outlives the sandbox. Nil means a file in the
	// run directory.
	AuditLog *os.File
	// AuditLogBytes bounds it: it ends with the last event that fits. Zero is no bound.
	AuditLogBytes int64
	// OnAuditLogFull is called once, by any goroutine, when it has reached that.
	OnAuditLogFull func()

	// DisableAdmission names admission plugins to switch off: "ServiceAccount"
	// where no controller will make the default service accounts.
	DisableAdmission []string

	// ExtraArgs are kube-apiserver flags that win over this package's own.
	ExtraArgs []string

	// Progress, if set, gets a line now and then while Start waits. Calls come
	// one at a time, all of them before Start returns.
	Progress func(line string)

	// OnListening, if set, is called once before the server is ready, as soon as
	// it accepts connections: controllers may be started now, so that their
	// start overlaps with the server's. Requests may be answered with an error
	// until Start returns. It must not block; Start may still fail.
	OnListening func(*Sandbox)
}

// AuditLevel is how much of a request the audit log shows, in the words of the
// audit.k8s.io API. Whether a DELETE was a dry run shows at AuditRequest only. Secrets
// and tokens are logged at AuditMetadata at most, but for deletes.
type AuditLevel string

const (
	AuditNone            AuditLevel = ""
	AuditMetadata        AuditLevel = "Metadata"
	AuditRequest         AuditLevel = "Request"
	AuditRequestResponse AuditLevel = "RequestResponse"
)

func (l AuditLevel) validate() error {
	switch l {
	case AuditNone, AuditMetadata, AuditRequest, AuditRequestResponse:
		return nil
	}
	return fmt.Errorf("unknown audit level %q (known: %s, %s, %s)",
		string(l), AuditMetadata, AuditRequest, AuditRequestResponse)
}

// LinkedVersion is the Kubernetes release whose code is linked in: the version
// of k8s.io/kubernetes in go.mod.
const LinkedVersion = wire.LinkedVersion

// AdmissionCachePath is a path of the sandbox's API server that tells whether its
// admission plugins have read an object, by the query parameters group, version,
// resource, namespace, name and resourceVersion.
const AdmissionCachePath = wire.AdmissionCachePath

// Versions lists the minor versions that a sandbox can behave like, oldest
// first; the last one is LinkedVersion's. kube-apiserver emulates the three
// minor versions before its own (apiserver/pkg/util/compatibility@v0.37.1).
func Versions() []string { return []string{"1.34", "1.35", "1.36", "1.37"} }

// ParseVersion returns the canonical form, like "1.36", of a Kubernetes version
// that a sandbox can behave like, and an error that lists Versions for any
// other. Patch releases are refused: only minor versions are emulated, and
// "1.36.2" would promise the fixes of a patch that is not linked in.
func ParseVersion(s string) (string, error) {
	v := strings.TrimPrefix(s, "v")
	if !slices.Contains(Versions(), v) {
		return "", fmt.Errorf("unsupported Kubernetes version %q (supported minor versions: %s)",
			s, strings.Join(Versions(), ", "))
	}
	return v, nil
}
