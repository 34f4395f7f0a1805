// Package wire is what the two halves of a sandbox agree on: how the child is
// told that it is one, which descriptors it inherits, what is said over them,
// what the files of a run directory are called and how the directory goes away.
//
// The parent half is package sandbox, the child half package controlplane. This
// package links neither etcd nor kube-apiserver.
package wire

// Env is the environment variable that makes the re-executed binary a child;
// its value says which one. It carries no configuration and no secret.
const Env = "KCTL_CTRL_CHILD"

// ControlPlane is the value of Env for the process that runs etcd and
// kube-apiserver.
const ControlPlane = "control-plane"

// LinkedVersion is the version of k8s.io/kubernetes in go.mod.
const LinkedVersion = "v1.37.1"

// Descriptors that the child inherits, besides a log file as stdout and stderr.
const (
	// ControlFD carries one Config, parent to child. The parent then keeps the
	// pipe open and silent: its end of file means that the parent closed the
	// sandbox or died, and the child removes the run directory and exits.
	ControlFD = 3
	// EventsFD carries Events, one JSON object a line, child to parent.
	EventsFD = 4
	// LockFD is the locked lock file of the run directory. The lock belongs to
	// the open file description, so it is held until both processes are gone.
	LockFD = 5
	// AuditFD is the file for the audit log, where Config.Audit is set.
	AuditFD = 6
)

// Files of a run directory. All have mode 0600, the directory 0700.
const (
	LockFile        = "lock"
	LogFile         = "log"
	ServerCAFile    = "server-ca.crt" // its key is never written
	ServingCertFile = "serving.crt"
	ServingKeyFile  = "serving.key"
	ClientCAFile    = "client-ca.crt"
	ClientCAKeyFile = "client-ca.key"
	SAPrivateFile   = "sa.key"
	SAPublicFile    = "sa.pub"
	TokensFile      = "tokens.csv"
	AuditPolicyFile = "audit-policy.yaml"
	AuditLogFile    = "audit.log"
	KubeconfigFile  = "kubeconfig"
	ExportedFile    = "exported" // see Export
	EtcdDir         = "etcd"
	EtcdSocket      = "etcd.sock"
	EtcdPeerSocket  = "peer.sock"
)

// Config is all that the child needs to know; file names in it are absolute.
// The child's working directory is the run directory.
type Config struct {
	// EmulatedVersion is a minor version like "1.36", or empty for the
	// version that is linked in.
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// FeatureGates are kube-apiserver's.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Audit has the child write an audit log to AuditFD. The policy is
	// AuditPolicyFile.
	Audit bool `json:"audit,omitempty"`
	// AuditBytes bounds the audit log; zero does not.
	AuditBytes int64 `json:"auditBytes,omitempty"`
	// DisableAdmission names admission plugins to switch off.
	DisableAdmission []string `json:"disableAdmission,omitempty"`
	// ServiceCIDR is the range of cluster IPs.
	ServiceCIDR string `json:"serviceCIDR"`
	// ExtraArgs are kube-apiserver flags that win over the child's own.
	ExtraArgs []string `json:"extraArgs,omitempty"`
}

// EventType says what an Event reports.
type EventType string

const (
	// Progress is a line for the person who waits.
	Progress EventType = "progress"
	// Listening says that kube-apiserver accepts connections on Event.Address.
	// Requests may still be answered with an error until Ready.
	Listening EventType = "listening"
	// Ready says that /readyz is ok.
	Ready EventType = "ready"
	// AuditFull says that the audit log has reached its bound, and ends there.
	AuditFull EventType = "auditFull"
	// Failed is the child's last word before it exits.
	Failed EventType = "failed"
)

// Event is one line from the child.
type Event struct {
	Type    EventType `json:"type"`
	Address string    `json:"address,omitempty"` // host:port, with Listening
	Message string    `json:"message,omitempty"`
}

// AdmissionCachePath is a path of the child's API server that tells how far the
// caches of its admission plugins are; see package controlplane.
const AdmissionCachePath = "/readyz/admission-cache"

// AdmissionCache is the answer of AdmissionCachePath.
type AdmissionCache struct {
	// Behind: the cache does not have the version asked for yet.
	Behind bool `json:"behind"`
}
