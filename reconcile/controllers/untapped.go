package controllers

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// AddUntappedFlag registers --untapped, which is not upstream's: what becomes of a
// controller that the taps do not fit.
func (o *Options) AddUntappedFlag(fs *pflag.FlagSet) {
	fs.Var(&o.untapped, "untapped", "controllers that cannot be observed, as after an update of Kubernetes' code: `refuse` (they are off, with the reason) or allow (they run; their keys and causes are not recorded, and --until-settled does not wait for them)")
}

// Untapped is Config.Untapped as the flag says.
func (o *Options) Untapped() bool { return bool(o.untapped) }

// untapped is the value of --untapped: whether it is allowed.
type untapped bool

func (u *untapped) Set(word string) error {
	switch word {
	case "allow":
		*u = true
	case "refuse":
		*u = false
	default:
		return fmt.Errorf("%q is not a valid value: use refuse or allow", word)
	}
	return nil
}

func (u *untapped) String() string {
	if *u {
		return "allow"
	}
	return "refuse"
}

func (u *untapped) Type() string { return "string" }

// notObserved is why the taps do not fit a controller.
type notObserved struct{ why error }

func (e notObserved) Error() string { return fmt.Sprintf("it cannot be observed: %v", e.why) }
func (e notObserved) Unwrap() error { return e.why }

// untapped returns an error that turns a controller off which cannot be observed, or
// notes that it runs all the same.
func (m *Manager) untapped(controller string, why error) error {
	if !m.cfg.Untapped {
		return notObserved{why}
	}
	m.record(state.Note{Source: controller, Warning: true, Text: fmt.Sprintf("it runs untapped, its keys and causes are not recorded: %v", why)})
	return nil
}
