package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/kubernetes/pkg/controller"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// activity joins what the taps know of deliveries with what the simulated parts,
// which have informers of their own, know.
type activity struct{ *Engine }

func (a activity) Activity() settle.Activity {
	now := a.tap.Activity()
	out := settle.Activity{Moving: now.Moving(), Generation: now.Generation}
	for _, due := range now.Waiting {
		out.Waiting = append(out.Waiting, settle.Due{Controller: due.Controller, Queue: due.Queue, Key: due.Key, At: due.Due, Retries: due.Retries})
	}
	return out
}

func (a activity) Changed() <-chan struct{} { return a.tap.Changed() }

func (a activity) Seen(object state.Ref, resourceVersion string) bool {
	return a.tap.Seen(object, resourceVersion) && (a.world.nodes == nil || a.world.nodes.Seen(object, resourceVersion))
}

func (a activity) SeenDeleted(object state.Ref) bool {
	return a.tap.SeenDeleted(object) && (a.world.nodes == nil || a.world.nodes.SeenDeleted(object))
}

// addProbe has the settler ask p too. Parts of an engine start side by side.
func (e *Engine) addProbe(p settle.Probe) {
	e.probing.Lock()
	defer e.probing.Unlock()
	e.settler.Probes = append(e.settler.Probes, p)
}

// WaitSettled waits until the loops have come to rest and returns what is due
// later; a timeout of zero is none.
func (e *Engine) WaitSettled(ctx context.Context, timeout time.Duration) ([]settle.Due, error) {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
	}
	go func() {
		select {
		case <-e.Lost():
			cancel(e.Err())
		case <-waiting.Done():
		}
	}()
	later, err := e.settler.Wait(waiting)
	var moving *settle.MovingError
	switch {
	case err == nil:
		for _, write := range e.writes.TakeUnconfirmed() {
			e.journal.Record(state.Note{Source: "settle", Warning: true, Text: "gave up waiting for the watch event of a write: " + write})
		}
		e.noteUnscheduled()
		e.noteExpectations()
		e.Note("settle", "all queues are idle")
		return later, nil
	case errors.Is(err, context.DeadlineExceeded) && errors.As(err, &moving):
		return later, &settle.UnsettledError{Reasons: moving.Busy, Total: moving.Total()}
	default:
		return nil, context.Cause(waiting)
	}
}

// noteUnscheduled puts the pods into the journal that stay without a node.
func (e *Engine) noteUnscheduled() {
	for _, pod := range e.unschedulable() {
		e.journal.Record(state.Note{
			Source: "kube-scheduler", Warning: true,
			Text: fmt.Sprintf("pod %s/%s has no node: %s", pod.Namespace, pod.Name, cmp.Or(pod.Message, pod.Reason)),
		})
	}
}

// noteExpectations says which syncs of a dry run wait for objects that will never
// come: controllers that count what they created (k8s.io/kubernetes v1.37.1
// pkg/controller/controller_utils.go) skip a key until its objects appear or
// ExpectationsTimeout is over.
func (e *Engine) noteExpectations() {
	expecting := controllers.Expecting()
	waiting := map[string]bool{}
	for write := range e.journal.Flush().Writes.All() {
		if write.Result == state.WriteDry && write.Cause.Key != "" &&
			(write.Verb == "create" || write.Verb == "delete") && slices.Contains(expecting, write.Controller) {
			waiting[state.ShortName(write.Controller)+" "+write.Cause.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(waiting)) {
		e.Note("settle", "%s waits up to %s for what it wrote dry to appear", key, state.Short(controller.ExpectationsTimeout))
	}
}

// ReportWaits has report called while WaitSettled waits, after 5 s and then at growing
// intervals, unless it is for the user, who is being asked.
func (e *Engine) ReportWaits(report func(settle.Waiting)) {
	e.settler.Report = func(w settle.Waiting) {
		if gate := e.approvals.gate; gate != nil && len(gate.Questions()) > 0 {
			return
		}
		report(w)
	}
}
