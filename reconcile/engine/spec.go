package engine

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Spec says what an engine runs, where, and what becomes of its writes. Nothing in it has
// started anything, and nothing is read from flags or the environment.
type Spec struct {
	// Sandbox or Cluster is where the engine works; exactly one is set.
	Sandbox *Sandbox
	Cluster *Cluster

	// Mode is what becomes of writes: of the controllers', or with Command of the
	// command's. The zero value is ModeActive on a sandbox and ModeDryRunClient on a
	// cluster.
	Mode state.Mode
	// Controllers are kube-controller-manager's options; nil is its defaults. An engine
	// changes them.
	Controllers *controllers.Options
	// Scheduler has kube-scheduler run in place of controllers, on a cluster.
	Scheduler bool
	// Command: the engine is for a program of the user's own, behind the proxy of
	// StartProxy. The controllers of a sandbox then write for real in any mode, and on a
	// cluster none run.
	Command bool
	// Namespace confines the controllers; empty is all namespaces.
	Namespace string
	// Impersonate has the controllers act as their accounts in kube-system.
	Impersonate bool
	// Approvals say who decides about writes.
	Approvals Approvals

	// Horizon is how far ahead a key may be due and still be waited for by WaitSettled.
	Horizon time.Duration
	// SchedulerStart is how long kube-scheduler's informers may take to sync; zero is
	// its default.
	SchedulerStart time.Duration
	// Log is where upstream's components log to.
	Log Log
	// Version and Kubernetes are what the journal says of the program that runs the
	// engine.
	Version, Kubernetes string
	// Progress, if set, gets a line now and then of what a start does; without it these
	// are notes in the journal. It is called from several goroutines.
	Progress func(string)
}

// Log is a file for what upstream's components log, which goes nowhere else.
type Log struct {
	// File is its name. What is in it already is kept. That it cannot be opened is an
	// error.
	File string
	// Dir is, where File is empty, the directory in which the file LogName is appended
	// to. That it cannot be is a warning in the journal. Without either nothing is logged.
	Dir string
	// Verbosity is as of kube-controller-manager's -v, 7 at most.
	Verbosity int
}

// Sandbox is a control plane in a child of this process, with what is simulated there.
// The zero value has no nodes, and no scheduler therefore.
type Sandbox struct {
	// KubernetesVersion is the minor version for the control plane and the controllers to
	// behave like; empty is the newest.
	KubernetesVersion string
	// Nodes is how many nodes are simulated, each of Capacity; what that leaves out is as
	// in nodes.DefaultCapacity.
	Nodes    int
	Capacity corev1.ResourceList
	// Pods says what becomes of pods that are bound; empty is nodes.PodsReady.
	Pods nodes.PodBehaviour
	// AuditLog is a file for kube-apiserver's audit log (level Request, without the
	// bodies of Secrets and tokens), which ends at AuditLogBytes; empty is none. One that
	// exists is an error unless ReplaceAuditLog is set.
	AuditLog        string
	AuditLogBytes   int64
	ReplaceAuditLog bool
}

// Cluster is the cluster of a context.
type Cluster struct {
	// Context is its name, and Target where it leads.
	Context string
	Target  connect.Target
	// KubernetesVersion is the minor version for the controllers to behave like; empty is
	// the newest.
	KubernetesVersion string
	// Election is how the engine comes to write to a cluster in ModeActive. On a sandbox
	// of this user, which its certificate authority proves, it may be nil.
	Election *Election
}

// Election is what a user has said of the lease under which controllers write to a
// cluster for real. The lease itself is among the controllers' options.
type Election struct {
	// Confirm is the name of the context, as the user has typed it.
	Confirm string
	// NoWait ends the wait where another holds the lease.
	NoWait bool
	// Lease is the lease's name where the user gave one.
	Lease string
	// Allowed is asked before anything is written, and again when the lease is held, for
	// the wait may have lasted for days: an error ends it. nil allows.
	Allowed func() error
	// Bound, if set, bounds the wait for the lease, when it begins.
	Bound func(context.Context) (context.Context, context.CancelFunc)
}

// Approvals say who decides about writes: nobody where it is zero.
type Approvals struct {
	// Ask: who is in front of the program is asked (Gate).
	Ask bool
	// Policy allows writes without asking.
	Policy *approve.Policy
	// Signalled: SIGUSR1 releases the circuit breaker. The caller sees to that, and the
	// journal says it.
	Signalled bool
}

func (a Approvals) given() bool { return a.Ask || a.Policy != nil }
