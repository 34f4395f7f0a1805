package main

import (
	"errors"

	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// screenApprovals are the session's gate in the hands of the screen.
type screenApprovals struct{ s *session }

var _ port.Approvals = screenApprovals{}

// Answer implements port.Approvals.
func (a screenApprovals) Answer(id int, answer state.Answer) error {
	return a.s.approval.gate.Answer(id, answer)
}

// Withdraw implements port.Approvals.
func (a screenApprovals) Withdraw() error {
	if !a.s.approval.gate.Withdraw() {
		return errors.New("nothing is approved beyond single writes")
	}
	return nil
}

// SetBrake implements port.Approvals.
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
