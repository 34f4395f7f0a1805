// Package lead takes part in the election of kube-controller-manager's or
// kube-scheduler's leader, and has what it leads write for real in between: a Candidacy
// asks the cluster first (Preflight) and sets up the election (Stand); the Tenure that it
// becomes waits for the lease (Acquire), starts the work (Lead), and stops it before the
// lease is released (End).
//
// What works is handed in as Work; its writes go through the gate that the election
// opens, see package election. docs/active.md says what users are promised.
package lead
