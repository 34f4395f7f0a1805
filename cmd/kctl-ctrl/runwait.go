package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	controllernames "k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// wait returns when the run is to end.
func (o *runOptions) wait(ctx context.Context, s *session) error {
	switch {
	case o.untilSettled:
		s.reportWaits(o.ErrOut)
		_, err := s.waitSettled(ctx, o.left(o.timeout))
		return err
	case o.duration > 0:
		began := time.Now()
		timer := time.NewTimer(o.left(o.duration))
		defer timer.Stop()
		select {
		case <-timer.C:
			return s.checkSynced(began)
		case <-s.crashed():
			return s.crash()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	default:
		select {
		case <-s.crashed():
			return s.crash()
		case <-ctx.Done():
		}
		if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
			return nil // this is how a run without an end is ended
		}
		return context.Cause(ctx)
	}
}

// settleTimeout is how long a wait for the controllers to settle lasts at most, where
// nothing else is asked for.
const settleTimeout = 5 * time.Minute

// waitSettled waits until the loops have come to rest and returns what is due
// later; a timeout of zero is none.
func (s *session) waitSettled(ctx context.Context, timeout time.Duration) ([]settle.Due, error) {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
	}
	go func() {
		select {
		case <-s.crashed():
			cancel(s.crash())
		case <-waiting.Done():
		}
	}()
	later, err := s.settler.Wait(waiting)
	var moving *settle.MovingError
	switch {
	case err == nil:
		for _, write := range s.writes.TakeUnconfirmed() {
			s.hub.Record(state.Note{Source: "settle", Warning: true, Text: "gave up waiting for the watch event of a write: " + write})
		}
		s.noteUnscheduled()
		s.noteExpectations()
		s.note("settle", "the loops have come to rest")
		return later, nil
	case errors.Is(err, context.DeadlineExceeded) && errors.As(err, &moving):
		return later, &settle.UnsettledError{Reasons: moving.Busy, Total: moving.Total()}
	default:
		return nil, context.Cause(waiting)
	}
}

// noteUnscheduled puts the pods into the journal that stay without a node.
func (s *session) noteUnscheduled() {
	for _, pod := range s.unschedulable() {
		s.hub.Record(state.Note{
			Source: "kube-scheduler", Warning: true,
			Text: fmt.Sprintf("pod %s/%s has no node: %s", pod.Namespace, pod.Name, cmp.Or(pod.Message, pod.Reason)),
		})
	}
}

// noteExpectations says which syncs of a dry run wait for objects that will never
// come: controllers that count what they created (k8s.io/kubernetes v1.37.1
// pkg/controller/controller_utils.go) skip a key until its objects appear or
// ExpectationsTimeout is over.
func (s *session) noteExpectations() {
	expecting := []string{controllernames.DaemonSetController, controllernames.JobController, controllernames.ReplicaSetController, controllernames.ReplicationControllerController}
	waiting := map[string]bool{}
	for write := range s.hub.Flush().Writes.All() {
		if write.Result == state.WriteDry && write.Cause.Key != "" &&
			(write.Verb == "create" || write.Verb == "delete") && slices.Contains(expecting, write.Controller) {
			waiting[render.ShortName(write.Controller)+" "+write.Cause.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(waiting)) {
		s.note("settle", "%s waits up to %s for what it wrote dry to appear", key, state.Short(controller.ExpectationsTimeout))
	}
}
