package controllers

import (
	"fmt"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Busy says in words which loops have not begun to work: they wait for their
// start interval, or the garbage collector is still building its graph, for
// which it has informers of its own that begin only in its Run. Empty means that
// what there is to do stands in queues. None before Start.
//
// Informers that have not synced are not in it: the taps know of those.
func (m *Manager) Busy() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for i := range m.descriptors {
		s := m.status[m.descriptors[i].Name]
		if s != nil && s.Status == state.ControllerStarting {
			out = append(out, fmt.Sprintf("%s has not begun", s.Controller))
		}
	}
	w, gc := m.world.Load(), m.status[names.GarbageCollectorController]
	// Once it runs, its graph is there to stay.
	if w != nil && gc != nil && gc.Status == state.ControllerRunning && w.graph != nil && !w.graph.IsSynced(klog.Logger{}) {
		out = append(out, fmt.Sprintf("%s is building its graph", gc.Controller))
	}
	return out
}
