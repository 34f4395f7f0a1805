package election

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Release ends this process's participation: no further write is sent, writes in flight
// are waited for, and the lease is released if this process holds it. Call it after the
// controllers have returned. If they, or a write, do not end within ctx, the lease must
// expire: use Abandon.
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
	// Also if it is unknown whether this process holds the lease: the response to its
	// last request may be missing.
	gave, err := e.giveBack(ctx)
	switch {
	case err != nil && mine:
		return fmt.Errorf("release the lease %s: %w; the lease expires within %ds", e.lease.Key(), err, e.seconds)
	case !gave:
		e.withdraw()
	}
	return nil
}

// withdraw records that it is no longer a candidate, if it has never led.
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

// Abandon ends this process's participation and lets the lease expire.
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

// halt closes the gate deliberately, and reports whether that ended the term.
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

// giveBack writes the lease without a holder, as client-go does; the next candidate
// need not wait for its expiry.
func (e *Election) giveBack(ctx context.Context) (gave bool, err error) {
	for {
		old, _, err := e.inner.Get(ctx)
		if err != nil {
			return false, err
		}
		if old.HolderIdentity != e.identity {
			return false, nil // it has been acquired by another: nothing to release
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
