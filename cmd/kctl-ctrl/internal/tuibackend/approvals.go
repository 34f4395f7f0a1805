package tuibackend

import (
	"errors"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// screenApprovals are the engine's gate in the hands of the screen.
type screenApprovals struct{ e *engine.Engine }

var _ port.Approvals = screenApprovals{}

// Answer implements port.Approvals.
func (a screenApprovals) Answer(id int, answer state.Answer) error {
	return a.e.Gate().Answer(id, answer)
}

// Withdraw implements port.Approvals.
func (a screenApprovals) Withdraw() error {
	if !a.e.Gate().Withdraw() {
		return errors.New("nothing is approved beyond single writes")
	}
	return nil
}

// SetBrake implements port.Approvals.
func (a screenApprovals) SetBrake(on bool) error {
	if on {
		a.e.Gate().Brake("the user has put it on")
		return nil
	}
	if !a.e.Gate().Release("the user") {
		return errors.New("the brake is not on")
	}
	return nil
}
