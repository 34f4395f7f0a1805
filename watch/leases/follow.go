package leases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Change is the change of a lease.
type Change struct {
	Lease state.LeaseStatus
	// What describes it: "held by web-1", "expired", "renewed", "deleted".
	What string
	// Renewal is set if only the time changed.
	Renewal bool
	// Deleted is set if the lease was deleted; Lease is its last state.
	Deleted bool
}

// FollowOptions control a Follow.
type FollowOptions struct {
	// Now is the clock used to determine lease states.
	Now func() time.Time
	// After waits as time.After does.
	After func(time.Duration) <-chan time.Time
	// Lost is called when the server becomes unreachable, once until it is reachable
	// again.
	Lost func(error)
}

const (
	// briefly is the pause before the leases are listed again after a watch.
	briefly = 200 * time.Millisecond
	// retryAfter is the pause after a list that failed.
	retryAfter = 2 * time.Second
)

// Follow calls changed for each change of the leases since a List, until ctx ends,
// which is not an error, or the server rejects the request. Leases also change without
// a write: they expire. It calls changed sequentially on its own goroutine.
func (r *Reader) Follow(ctx context.Context, q Query, listed []state.LeaseStatus, resourceVersion string, options FollowOptions, changed func(Change) error) error {
	t := newTracker(listed, options.Now())
	for {
		err := r.watch(ctx, q, resourceVersion, t, options, changed)
		var stop *stopError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &stop):
			return stop.err
		}
		told := false
		if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			options.Lost(err)
			told = true
		}
		for pause := briefly; ; pause = retryAfter {
			select {
			case <-ctx.Done():
				return nil
			case <-options.After(pause):
			}
			listed, resourceVersion, err = r.List(ctx, q)
			if err == nil {
				break
			}
			if refused(err) {
				return err
			}
			if !told && ctx.Err() == nil {
				options.Lost(err)
				told = true
			}
		}
		for _, change := range t.replace(listed, options.Now()) {
			if err := changed(change); err != nil {
				return err
			}
		}
	}
}

func refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// stopError ends Follow; other errors restart the watch.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }

// watch reports changes until the watch ends: nil if the server closed it, which it
// does every few minutes.
func (r *Reader) watch(ctx context.Context, q Query, resourceVersion string, t *tracker, options FollowOptions, changed func(Change) error) error {
	selected := q.listOptions()
	selected.ResourceVersion = resourceVersion
	watcher, err := r.client.CoordinationV1().Leases(q.Namespace).Watch(ctx, selected)
	if err != nil {
		if refused(err) {
			return &stopError{err}
		}
		return err
	}
	defer watcher.Stop()
	report := func(changes ...Change) error {
		for _, change := range changes {
			if err := changed(change); err != nil {
				return &stopError{err}
			}
		}
		return nil
	}
	for {
		var expiry <-chan time.Time
		if due, some := t.next(); some {
			expiry = options.After(max(0, due.Sub(options.Now())))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-expiry:
			if err := report(t.expire(options.Now())...); err != nil {
				return err
			}
		case event, open := <-watcher.ResultChan():
			switch {
			case !open:
				return nil
			case event.Type == watch.Error:
				err := apierrors.FromObject(event.Object)
				if refused(err) {
					return &stopError{err}
				}
				return err
			}
			lease, ok := event.Object.(*coordinationv1.Lease)
			if !ok || !q.wants(lease.Name) {
				continue
			}
			if change, some := t.see(statusOf(lease), event.Type == watch.Deleted, options.Now()); some {
				if err := report(change); err != nil {
					return err
				}
			}
		}
	}
}

// tracker stores the last state of the leases and computes changes.
type tracker struct {
	leases map[string]state.LeaseStatus
}

func newTracker(listed []state.LeaseStatus, now time.Time) *tracker {
	t := &tracker{leases: map[string]state.LeaseStatus{}}
	for _, l := range listed {
		t.leases[key(l)] = l.At(now)
	}
	return t
}

// see processes a lease as the server returned it.
func (t *tracker) see(l state.LeaseStatus, deleted bool, now time.Time) (Change, bool) {
	l = l.At(now)
	old, known := t.leases[key(l)]
	switch {
	case deleted:
		delete(t.leases, key(l))
		return Change{Lease: l, What: "deleted", Deleted: true}, known
	case known && old.ResourceVersion == l.ResourceVersion:
		return Change{}, false
	}
	t.leases[key(l)] = l
	change := Change{Lease: l}
	switch {
	case !known && l.State == state.LeaseFree:
		change.What = "created"
	case !known:
		change.What = "created, " + string(l.State)
	case l.Identity == "" && old.Identity != "":
		change.What = "released by " + old.Identity
	case l.Identity != old.Identity && old.Identity == "":
		change.What = "acquired"
	case l.Identity != old.Identity:
		change.What = "taken over from " + old.Identity
	case l.State != old.State:
		change.What = fmt.Sprintf("%s, was %s", l.State, old.State)
	case l.Transitions != old.Transitions:
		change.What = "reacquired"
	case !l.RenewTime.Equal(old.RenewTime):
		change.What, change.Renewal = "renewed", true
	default:
		change.What, change.Renewal = "touched", true
	}
	return change, true
}

// next is the earliest time at which a lease expires.
func (t *tracker) next() (first time.Time, some bool) {
	for _, l := range t.leases {
		if l.State == state.LeaseHeld && (!some || l.ExpiryTime.Before(first)) {
			first, some = l.ExpiryTime, true
		}
	}
	return first, some
}

// expire returns the leases that have expired since the last check.
func (t *tracker) expire(now time.Time) []Change {
	var out []Change
	for id, old := range t.leases {
		l := old.At(now)
		if l.State == state.LeaseExpired && old.State == state.LeaseHeld {
			t.leases[id] = l
			out = append(out, Change{Lease: l, What: "expired"})
		}
	}
	sortChanges(out)
	return out
}

// replace processes a new list.
func (t *tracker) replace(listed []state.LeaseStatus, now time.Time) []Change {
	var out []Change
	seen := map[string]bool{}
	for _, l := range listed {
		seen[key(l)] = true
		if change, some := t.see(l, false, now); some {
			out = append(out, change)
		}
	}
	for id, l := range t.leases {
		if !seen[id] {
			delete(t.leases, id)
			out = append(out, Change{Lease: l.At(now), What: "deleted", Deleted: true})
		}
	}
	sortChanges(out)
	return append(out, t.expire(now)...)
}

func sortChanges(list []Change) {
	slices.SortFunc(list, func(a, b Change) int {
		if key(a.Lease) < key(b.Lease) {
			return -1
		}
		return 1
	})
}
