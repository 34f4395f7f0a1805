package election

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Release ends this process's part: no write leaves any more, those under way
// are waited for, and the lease is given back if this process has it. Call it
// when the loops have returned. Where that, or a write, does not end within ctx,
// the lease must expire by itself: Abandon.
func (e *Election) Release(ctx context.Context) error {
	led := e.halt("the lease is being released")
	if err := e.gate.drain(ctx); err != nil {
		e.leave(led, err.Error())
		return fmt.Errorf("release the lease %s: %w; the lease expires within %ds", e.lease.Key(), err, e.seconds)
	}
	if !e.stopped(ctx) {
		return fmt.Errorf("release the lease %s: leader election did not stop in time; the lease expires within %ds", e.lease.Key(), e.seconds)
	}
	e.mu.Lock()
	began, mine := e.stop != nil, e.seen && e.holder.HolderIdentity == e.identity
	e.mu.Unlock()
	if !began {
		return nil
	}
	// Also where it does not know that it holds the lease: the answer to its last
	// request may be missing.
	gave, err := e.giveBack(ctx)
	switch {
	case err != nil && mine:
		return fmt.Errorf("release the lease %s: %w; the lease expires within %ds", e.lease.Key(), err, e.seconds)
	case !gave:
		e.withdraw()
	}
	return nil
}

// withdraw says that it waits no longer, where it has never led.
func (e *Election) withdraw() {
	select {
	case <-e.acquired:
		return
	default:
	}
	e.mu.Lock()
	event := e.event(state.ElectionWithdrawn)
	e.mu.Unlock()
	e.recorder.Record(event)
}

// Abandon ends this process's part and leaves the lease to expire.
func (e *Election) Abandon(reason string) { e.leave(e.halt(reason), reason) }

func (e *Election) leave(led bool, reason string) {
	e.mu.Lock()
	stop := e.stop
	e.mu.Unlock()
	if stop != nil {
		stop()
	}
	if led {
		e.recorder.Record(state.ElectionChanged{Lease: e.lease, Phase: state.ElectionLost, Identity: e.identity, Reason: "left to expire: " + reason})
	} else if stop != nil {
		e.withdraw()
	}
}

// halt shuts the gate on purpose, and reports whether it was this that ended the
// term.
func (e *Election) halt(reason string) (led bool) {
	e.gate.shut(reason)
	e.mu.Lock()
	defer e.mu.Unlock()
	led, e.leading, e.quiet = e.leading, false, true
	return led
}

// stopped stops the elector, which has renewed until now, and waits for it.
func (e *Election) stopped(ctx context.Context) bool {
	e.mu.Lock()
	stop := e.stop
	e.mu.Unlock()
	if stop == nil {
		return true
	}
	stop()
	select {
	case <-e.returned:
		return true
	case <-ctx.Done():
		return false
	}
}

// giveBack writes the lease without a holder, as client-go does; the next one
// need not wait for it to expire.
func (e *Election) giveBack(ctx context.Context) (gave bool, err error) {
	for {
		old, _, err := e.inner.Get(ctx)
		if err != nil {
			return false, err
		}
		if old.HolderIdentity != e.identity {
			return false, nil // it has been taken over: there is nothing to give back
		}
		now := metav1.Now()
		err = e.inner.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: old.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
		switch {
		case apierrors.IsConflict(err) && ctx.Err() == nil:
			continue
		case err != nil:
			return false, err
		}
		e.recorder.Record(state.ElectionChanged{Lease: e.lease, Phase: state.ElectionReleased, Identity: e.identity})
		return true, nil
	}
}
