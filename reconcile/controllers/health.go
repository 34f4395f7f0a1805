package controllers

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/controller-manager/controller"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// HealthChecks returns a check for each controller that was built, by name: nil
// is healthy. It is the loop's own check where upstream has one (none does at
// v1.37.1), and says in any case when the loop has failed or returned.
func (m *Manager) HealthChecks() map[string]func(*http.Request) error {
	checks := map[string]func(*http.Request) error{}
	m.eachBuilt(func(d *Descriptor, loops []loop) {
		var own []func(*http.Request) error
		for _, l := range loops {
			if c, ok := l.target.(controller.HealthCheckable); ok {
				if check := c.HealthChecker(); check != nil {
					own = append(own, check.Check)
				}
			}
		}
		checks[d.Name] = func(req *http.Request) error {
			if err := m.alright(d.Name); err != nil {
				return err
			}
			var errs []error
			for _, check := range own {
				errs = append(errs, check(req))
			}
			return errors.Join(errs...)
		}
	})
	return checks
}

func (m *Manager) alright(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch s := m.status[name]; s.Status {
	case state.ControllerFailed:
		return errors.New(s.Reason)
	case state.ControllerStopped:
		return fmt.Errorf("%s has stopped", name)
	default:
		return nil
	}
}

// eachBuilt calls fn for each controller that has loops, sorted by name.
func (m *Manager) eachBuilt(fn func(*Descriptor, []loop)) {
	for i := range m.descriptors {
		d := &m.descriptors[i]
		m.mu.Lock()
		var loops []loop
		if s := m.status[d.Name]; s != nil {
			loops = s.loops
		}
		m.mu.Unlock()
		if len(loops) > 0 {
			fn(d, loops)
		}
	}
}
