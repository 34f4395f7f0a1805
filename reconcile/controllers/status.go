package controllers

import (
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// status is what is known of one controller.
type status struct {
	state.ControllerChanged
	loops []loop
	left  int
}

// set changes a controller's status and records it if it is news. A failed controller stays
// failed.
func (m *Manager) set(d *Descriptor, to state.ControllerStatus, reason string, loops ...loop) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.status[d.Name]
	if s == nil {
		s = &status{}
		m.status[d.Name] = s
	}
	if s.Status == to && s.Reason == reason || s.Status == state.ControllerFailed {
		return
	}
	if loops != nil {
		s.loops, s.left = loops, len(loops)
	}
	s.ControllerChanged = state.ControllerChanged{Controller: d.Name, Status: to, Reason: reason}
	if to == state.ControllerStarting || to == state.ControllerRunning {
		s.Queues, s.Workers = d.queueNames(), d.workerCount(m.cfg.Component)
	}
	if to == state.ControllerStarting {
		s.Keys = d.queueKeys()
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
	for i := range m.descriptors {
		if s := m.status[m.descriptors[i].Name]; s != nil {
			out = append(out, s.ControllerChanged)
		}
	}
	return out
}

func loopID(d *Descriptor, l loop) string {
	if l.name == d.Name {
		return d.Name
	}
	return d.Name + "/" + l.name
}
