package state

import (
	"math"
	"strings"
	"time"
)

// LeaseState is what a Lease says about its holder at some time.
type LeaseState string

const (
	// LeaseHeld: a holder renewed it, and it has not run out.
	LeaseHeld LeaseState = "held"
	// LeaseExpired: the holder did not renew it in time; another may take it.
	LeaseExpired LeaseState = "expired"
	// LeaseFree: nobody holds it, as after a leader's orderly end.
	LeaseFree LeaseState = "free"
	// LeaseUnknown: it has a holder, and no renewTime or duration to judge by.
	LeaseUnknown LeaseState = "unknown"
)

// LeaseClass says what a Lease is for.
type LeaseClass string

const (
	// LeaseOfControlPlane: of kube-controller-manager, the scheduler and the like,
	// and the identity of an API server.
	LeaseOfControlPlane LeaseClass = "control-plane"
	// LeaseOfNode is a kubelet's heartbeat.
	LeaseOfNode LeaseClass = "node"
	// LeaseOfWorkload is any other: an operator's election, mostly.
	LeaseOfWorkload LeaseClass = "workload"
)

// LeaseHolder is the Pod or Node behind a lease's holderIdentity.
type LeaseHolder struct {
	Ref
	// Node is where the pod runs.
	Node string `json:"node,omitempty"`
	// By says how it was found, in words, and what is uncertain about it.
	By string `json:"by"`
}

// LeaseStatus is one Lease (coordination.k8s.io/v1), judged at one time.
type LeaseStatus struct {
	Context   string     `json:"context,omitempty"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Class     LeaseClass `json:"class"`
	State     LeaseState `json:"state"`
	// Identity is spec.holderIdentity as it stands there.
	Identity string `json:"holderIdentity,omitempty"`
	// Holder is nil where nothing in the cluster was found by that identity.
	Holder      *LeaseHolder `json:"holder,omitempty"`
	AcquireTime time.Time    `json:"acquireTime,omitzero"`
	RenewTime   time.Time    `json:"renewTime,omitzero"`
	// ExpiryTime is RenewTime and the duration.
	ExpiryTime time.Time `json:"expiryTime,omitzero"`
	Duration   int32     `json:"leaseDurationSeconds,omitempty"`
	// Transitions counts the changes of holder.
	Transitions int32 `json:"leaseTransitions"`
	// SinceRenew and UntilExpiry are seconds at the time of judging; UntilExpiry
	// is negative for an expired lease. Both are absent with their times.
	SinceRenew  *float64 `json:"secondsSinceRenew,omitempty"`
	UntilExpiry *float64 `json:"secondsUntilExpiry,omitempty"`
	// Strategy and PreferredHolder belong to coordinated leader election.
	Strategy        string `json:"strategy,omitempty"`
	PreferredHolder string `json:"preferredHolder,omitempty"`
	// HostName is the label by which an API server's identity lease names its
	// machine.
	HostName string `json:"hostName,omitempty"`
	// ResourceVersion is the object's.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Ours marks the identities that kctl-ctrl holds leases as, between the host and
// what is unique; other components have nothing there.
const Ours = "_kctl-ctrl-"

// HolderName is a holder's identity for reading: its machine or pod, and whether it
// is a kctl-ctrl there, which must not be taken for the component whose lease it
// holds.
func HolderName(identity string) string {
	host, _, _ := strings.Cut(identity, "_")
	return host + HolderMark(identity)
}

// HolderMark is what HolderName adds to the name of a machine or pod.
func HolderMark(identity string) string {
	if strings.Contains(identity, Ours) {
		return " (kctl-ctrl)"
	}
	return ""
}

// Ref names the Lease.
func (l LeaseStatus) Ref() Ref {
	return Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: l.Namespace, Name: l.Name}
}

// At judges the lease at a time: State, ExpiryTime and the seconds are of then.
// Upstream's elector takes a lease for free once the duration has passed since
// it saw the last renewal, by its own clock; an observer has only renewTime,
// which is of the holder's clock.
func (l LeaseStatus) At(now time.Time) LeaseStatus {
	l.SinceRenew, l.UntilExpiry, l.ExpiryTime = nil, nil, time.Time{}
	if !l.RenewTime.IsZero() {
		l.SinceRenew = seconds(now.Sub(l.RenewTime))
	}
	switch {
	case l.Identity == "":
		l.State = LeaseFree
		return l
	case l.RenewTime.IsZero() || l.Duration <= 0:
		l.State = LeaseUnknown
		return l
	}
	l.ExpiryTime = l.RenewTime.Add(time.Duration(l.Duration) * time.Second)
	l.UntilExpiry = seconds(l.ExpiryTime.Sub(now))
	l.State = LeaseHeld
	if !now.Before(l.ExpiryTime) {
		l.State = LeaseExpired
	}
	return l
}

// seconds are rounded to milliseconds.
func seconds(d time.Duration) *float64 {
	s := math.Round(d.Seconds()*1000) / 1000
	return &s
}

// LeaseCandidate is one candidate of coordinated leader election
// (coordination.k8s.io/v1beta1 or v1alpha2).
type LeaseCandidate struct {
	Context          string    `json:"context,omitempty"`
	Namespace        string    `json:"namespace"`
	Name             string    `json:"name"`
	Lease            string    `json:"leaseName"`
	BinaryVersion    string    `json:"binaryVersion,omitempty"`
	EmulationVersion string    `json:"emulationVersion,omitempty"`
	Strategy         string    `json:"strategy,omitempty"`
	PingTime         time.Time `json:"pingTime,omitzero"`
	RenewTime        time.Time `json:"renewTime,omitzero"`
}

// LeaseList is what is known about the leases of one or more clusters.
type LeaseList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Items      []LeaseStatus    `json:"items"`
	Candidates []LeaseCandidate `json:"candidates,omitempty"`
}
