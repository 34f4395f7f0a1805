package main

import (
	"errors"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// screenApprovals are the session's gate in the hands of the screen.
type screenApprovals struct{ s *session }

var _ tui.Approvals = screenApprovals{}

// Questions implements tui.Approvals.
func (a screenApprovals) Questions() []state.Question { return a.s.questions() }

// Answer implements tui.Approvals.
func (a screenApprovals) Answer(id int, answer state.Answer) error {
	return a.s.approval.gate.Answer(id, answer)
}

// Approved implements tui.Approvals.
func (a screenApprovals) Approved() []string {
	var out []string
	for _, g := range a.s.approval.gate.Grants() {
		out = append(out, g.String())
	}
	return out
}

// Withdraw implements tui.Approvals.
func (a screenApprovals) Withdraw() error {
	if !a.s.approval.gate.Withdraw() {
		return errors.New("nothing is approved beyond single writes")
	}
	return nil
}

// NotSent implements tui.Approvals.
func (a screenApprovals) NotSent() (n int, text, reason string) { return a.s.approval.gate.NotSent() }

// Brake implements tui.Approvals.
func (a screenApprovals) Brake() (reason string, since time.Time) {
	b := a.s.approval.gate.Braked()
	return b.Reason, b.Since
}

// SetBrake implements tui.Approvals.
func (a screenApprovals) SetBrake(on bool) error {
	if on {
		a.s.approval.gate.Brake("the user has put it on")
		return nil
	}
	if !a.s.approval.gate.Release("the user") {
		return errors.New("the brake is not on")
	}
	return nil
}
