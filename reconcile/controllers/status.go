package controllers

import (
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// status is what is known of one row.
type status struct {
	state.ControllerChanged
	loops []loop
	left  int
}

// set changes a row's status and records it if it is news. A failed row stays
// failed.
func (m *Manager) set(r *Descriptor, to state.ControllerStatus, reason string, loops ...loop) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.status[r.Name]
	if s == nil {
		s = &status{}
		m.status[r.Name] = s
	}
	if s.Status == to && s.Reason == reason || s.Status == state.ControllerFailed {
		return
	}
	if loops != nil {
		s.loops, s.left = loops, len(loops)
	}
	s.ControllerChanged = state.ControllerChanged{Controller: r.Name, Status: to, Reason: reason}
	if to == state.ControllerStarting || to == state.ControllerRunning {
		s.Queues, s.Workers = r.queueNames(), r.workerCount(m.cfg.Component)
	}
	if to == state.ControllerStarting {
		s.Keys = r.queueKeys()
	}
	m.record(s.ControllerChanged)
}

func (m *Manager) record(e state.Event) {
	if m.cfg.Recorder != nil {
		m.cfg.Recorder.Record(e)
	}
}

// Statuses returns the last status of each of the 49 controllers, sorted by
// name; none before Start.
func (m *Manager) Statuses() []state.ControllerChanged {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []state.ControllerChanged
	for i := range m.rows {
		if s := m.status[m.rows[i].Name]; s != nil {
			out = append(out, s.ControllerChanged)
		}
	}
	return out
}

func loopID(r *Descriptor, l loop) string {
	if l.name == r.Name {
		return r.Name
	}
	return r.Name + "/" + l.name
}
