package engine

import (
	"context"
	"fmt"
	"os"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// approvals is the gate at which writes stand; nil where they need no leave.
type approvals struct {
	gate   *approve.Gate
	policy *approve.Policy
	// ofCommand: exec's command stands there, and the loops do not.
	ofCommand bool
}

// decide puts up the gate. Nothing may be connected yet.
func (e *Engine) decide(d Approvals) {
	if !d.given() {
		return
	}
	e.approvals.policy, e.approvals.ofCommand = d.Policy, e.spec.Command
	options := approve.Options{Policy: d.Policy, Ask: d.Ask, Recorder: e.journal, OnBrake: func() []string { return e.brakeMeans(d.Ask) }}
	if e.spec.Command {
		options.Unasked = ownElection
	}
	e.approvals.gate = approve.New(options)
	e.journal.OnControlLoss(e.approvals.gate.Restate)
	if !d.Ask && d.Signalled {
		e.Note("approve", "writes that no rule of the policy allows are skipped; SIGUSR1 to process %d releases the circuit breaker", os.Getpid())
	}
}

// ofLoops decides about the loops' writes; nil where they need no leave.
func (a approvals) ofLoops() func(context.Context, guard.Pending) error {
	if a.gate == nil || a.ofCommand {
		return nil
	}
	return a.gate.Before
}

// ofTheCommand decides about the writes of exec's command, likewise.
func (a approvals) ofTheCommand() func(context.Context, guard.Pending) error {
	if a.gate == nil || !a.ofCommand {
		return nil
	}
	return a.gate.Before
}

// KeptLease is what follows from nothing being written while this process leads.
const KeptLease = "this process keeps the lease meanwhile, so nobody reconciles"

// KeepsLease reports whether this process has the lease of a cluster's controller
// manager.
func (e *Engine) KeepsLease() bool {
	held := e.journal.Snapshot().Election
	return held != nil && (held.Phase == state.ElectionAcquired || held.Phase == state.ElectionRenewedLate)
}

// brakeMeans is what the line of the brake adds to its reason.
func (e *Engine) brakeMeans(asks bool) []string {
	var said []string
	if e.KeepsLease() {
		said = append(said, KeptLease)
	}
	if !asks && e.spec.Approvals.Signalled {
		said = append(said, fmt.Sprintf("'kill -USR1 %d' releases it", os.Getpid()))
	}
	return said
}

// never reports whether nothing that a loop writes can leave.
func (a approvals) never(controller string) bool {
	return a.gate != nil && !a.ofCommand && !a.gate.Asks() && (a.policy == nil || !a.policy.Concerns(controller))
}

// Gate is where writes wait that somebody has to approve; nil where none do.
func (e *Engine) Gate() *approve.Gate { return e.approvals.gate }

// ownElection says why a write is not asked about: a client that waits for a yes
// before it may lead, and before each renewal, gives up meanwhile.
func ownElection(p guard.Pending) string {
	if !proxy.Elects(p) {
		return ""
	}
	return "an exception: it is for the election of a leader"
}
