package election

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is the Lease as client-go's LeaderElector sees it: it notes the time of
// each renewal before its request leaves, and what others do with the lease.
type lock struct {
	resourcelock.Interface
	e *Election
	// leases is what Interface reads with.
	leases *versioned
	// raw is the record as it was read last. The LeaderElector calls from one
	// goroutine at a time.
	raw []byte
	// holder is another who held the lease when it was read last, or nobody; it counts
	// as alive until then, by our clock.
	holder string
	until  time.Duration
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		if apierrors.IsNotFound(err) {
			l.e.saw(&resourcelock.LeaderElectionRecord{}, l.raw != nil)
			l.raw = nil
			// client-go would create it at once. Who holds a lease that was deleted works
			// on until its deadline, and mostly creates it again.
			if l.holder != "" && l.e.clock.Now() < l.until {
				err = fmt.Errorf("it was deleted while held by %s, which may still be active: waiting for the lease duration", l.holder)
				l.e.failed("take", err)
			}
		} else {
			l.e.failed("read", err)
		}
		return nil, nil, err
	}
	// The record has its times in whole seconds, so that a renewal in the second of
	// the one before would go unseen, and a live holder be taken for a dead one.
	raw = append(raw, l.leases.version...)
	if record.Strategy != "" {
		err := fmt.Errorf("the API server chooses its holder (strategy %s): %w", record.Strategy, errCoordinated)
		l.e.end(err)
		return nil, nil, err
	}
	changed := l.raw != nil && !bytes.Equal(l.raw, raw)
	first := l.raw == nil
	l.raw = raw
	l.e.saw(record, changed)
	l.holder = ""
	if foreign := record.HolderIdentity != "" && record.HolderIdentity != l.Identity(); foreign {
		shown := *record
		// The LeaderElector takes a lease over when it has not changed for as long
		// as the lease says. One that says less than ours, or nothing, is given ours.
		shown.LeaseDurationSeconds = max(shown.LeaseDurationSeconds, l.e.seconds)
		if l.holder = shown.HolderIdentity; first || changed {
			l.until = l.e.clock.Now() + time.Duration(shown.LeaseDurationSeconds)*time.Second
		}
		record = &shown
	}
	return record, raw, nil
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.e.mayLead(ctx); err != nil {
		return err
	}
	at := l.e.clock.Now()
	err := l.Interface.Create(ctx, record)
	l.wrote(at, record, err)
	return err
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.e.mayLead(ctx); err != nil {
		return err
	}
	at := l.e.clock.Now()
	err := l.Interface.Update(ctx, record)
	l.wrote(at, record, err)
	return err
}

// versioned remembers the resourceVersion of the Lease that was read last.
type versioned struct {
	coordinationv1client.LeasesGetter
	version string
}

type versionedLeases struct {
	coordinationv1client.LeaseInterface
	v *versioned
}

// Leases implements LeasesGetter.
func (v *versioned) Leases(namespace string) coordinationv1client.LeaseInterface {
	return versionedLeases{v.LeasesGetter.Leases(namespace), v}
}

// Get implements LeaseInterface.
func (l versionedLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	lease, err := l.LeaseInterface.Get(ctx, name, o)
	if err == nil {
		l.v.version = lease.ResourceVersion
	}
	return lease, err
}

// wrote takes the answer to a write of the lease that was about to leave at a
// moment.
func (l *lock) wrote(at time.Duration, record resourcelock.LeaderElectionRecord, err error) {
	e := l.e
	if err != nil {
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			e.failed("write", err)
		}
		return
	}
	gap, open := e.gate.renew(at)
	e.mu.Lock()
	e.holder, e.seen = record, true
	again := e.over(true)
	first := open && !e.leading && e.err == nil && !e.quiet
	if first {
		e.leading = true
	}
	event := e.event(state.ElectionAcquired)
	event.Deadline = e.gate.deadline
	e.mu.Unlock()
	e.works(again)
	switch {
	case first:
		event.Holder, event.Since, event.RenewTime = "", time.Time{}, time.Time{}
		e.recorder.Record(event)
		close(e.acquired)
	case !open:
		e.end(e.lost("its renewal was confirmed too late"))
	case gap > 2*e.retry:
		event.Phase, event.Gap = state.ElectionRenewedLate, gap
		event.Holder, event.Since, event.RenewTime = "", time.Time{}, time.Time{}
		e.recorder.Record(event)
	}
	e.recorder.Record(state.LeaseChanged{
		Lease: e.lease, Holder: record.HolderIdentity, RenewTime: record.RenewTime.Time,
		Duration: int32(record.LeaseDurationSeconds), Transitions: int32(record.LeaderTransitions),
	})
}
