package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// StartMore starts one controller that is off, by its name or an alias, beside
// those that run, and returns when its loops have their goroutines. It asks for
// the rights first where Config.CheckAccess says so. An error is why it is not
// started, and then its status says the same; it can be tried again, but not
// after a failure. ctx is that of the questions to the server: the loops end
// with Start's.
//
// The informers that it shares with others run already: its handlers are told of
// what they hold.
func (m *Manager) StartMore(ctx context.Context, name string) error {
	d, err := m.named(name)
	if err != nil {
		return err
	}
	m.building.Lock()
	defer m.building.Unlock()
	m.mu.Lock()
	begun, ending := m.begun, m.ending
	var s state.ControllerChanged
	if known := m.status[d.Name]; known != nil {
		s = known.ControllerChanged
	}
	m.mu.Unlock()
	switch {
	case !begun || s.Status == "":
		return fmt.Errorf("start %s: the others have not been started", d.Name)
	case ending:
		return fmt.Errorf("start %s: the controllers are being stopped", d.Name)
	case s.Status == state.ControllerFailed:
		return fmt.Errorf("start %s: it has failed, and needs a new process: %s", d.Name, s.Reason)
	case s.Status != state.ControllerOff:
		return fmt.Errorf("start %s: it is %s", d.Name, s.Status)
	}
	if err := m.more(ctx, d); err != nil {
		return fmt.Errorf("start %s: %w", d.Name, err)
	}
	return nil
}

// more builds and launches a controller, with building held.
func (m *Manager) more(ctx context.Context, d *Descriptor) error {
	before := m.selected[d.Name]
	m.selected[d.Name] = true
	if reason := m.off(d, m.facts()); reason != "" {
		m.selected[d.Name] = before
		m.set(d, state.ControllerOff, reason)
		return errors.New(reason)
	}
	allowed := []*Descriptor{d}
	if m.cfg.CheckAccess {
		allowed = m.permitted(ctx, allowed)
	}
	if m.cfg.Impersonate {
		allowed = m.impersonable(ctx, allowed)
	}
	if len(allowed) == 0 {
		m.selected[d.Name] = before
		m.mu.Lock()
		defer m.mu.Unlock()
		return errors.New(m.status[d.Name].Reason)
	}
	if err := m.construct(m.ctx, d); err != nil {
		m.selected[d.Name] = before
		return err
	}
	m.startInformers()
	m.launch(m.ctx, d)
	return nil
}

// named finds a controller by its name or an alias.
func (m *Manager) named(name string) (*Descriptor, error) {
	selected, err := choose(m.descriptors, []string{name})
	if err != nil {
		return nil, err
	}
	for i := range m.descriptors {
		if d := &m.descriptors[i]; selected[d.Name] && name != "*" {
			return d, nil
		}
	}
	return nil, &UnknownError{Name: name}
}
