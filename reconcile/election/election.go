package election

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options describe an election. All are required unless noted.
type Options struct {
	// Of is the component that the election is for. Its usual lease is checked if this
	// is another lease.
	Of Component
	// Namespace and Name are the Lease's.
	Namespace, Name string
	// Identity is the holder identity of this process; NewIdentity's by default.
	Identity string
	// LeaseDuration is in whole seconds, as in the Lease. RetryPeriod is at least a
	// second: client-go's candidates compare renewals with a resolution of one second,
	// and would count from an earlier one.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Client reads and writes the Lease, through a guard with a LeaseGrant. Its
	// requests should time out well before RenewDeadline.
	Client coordinationv1client.LeasesGetter
	Clock  Clock
	// Recorder receives the events of the election.
	Recorder state.Recorder
	// NoWait makes Acquire return a *HeldError, instead of waiting, if another process
	// holds the lease and it has not expired.
	NoWait bool

	// hurried allows a shorter RetryPeriod if all candidates use this package.
	hurried bool
}

// HeldError means that another process holds the lease.
type HeldError struct {
	Lease, Holder    string
	Since, RenewTime time.Time
}

// Error is one line with the next step.
func (e *HeldError) Error() string {
	text := fmt.Sprintf("the lease %s is held by %s", e.Lease, e.Holder)
	if !e.Since.IsZero() {
		text += " since " + e.Since.UTC().Format(time.RFC3339)
	}
	return text + ": omit --no-wait to wait until it is free, or stop the holder"
}

// LostError means that the lease was lost.
type LostError struct{ Lease, Reason string }

// Error is one line with the next step.
func (e *LostError) Error() string {
	return fmt.Sprintf("the lease %s was lost: %s; no further writes are sent: restart to become a candidate again", e.Lease, e.Reason)
}

// errCoordinated: participants of coordinated leader election write LeaseCandidates,
// and the API server assigns the Lease.
var errCoordinated = errors.New("active mode is not supported on a cluster with coordinated leader election: use a dry run")

// NewIdentity returns an identity like kube-controller-manager's: the host name, an
// underscore, and a unique part.
func NewIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("create an identity for leader election: %w", err)
	}
	return host + state.Ours + string(uuid.NewUUID()), nil
}

// Election is this process's participation in the election for one Lease. It can lead
// once.
type Election struct {
	lease    state.Ref
	identity string
	seconds  int // LeaseDuration
	retry    time.Duration
	clock    Clock
	recorder state.Recorder
	noWait   bool
	// beside reads the usual lease; nil if that is this one.
	beside coordinationv1client.LeasesGetter
	of     Component

	gate    *gate
	inner   resourcelock.Interface
	elector *leaderelection.LeaderElector

	acquired chan struct{} // closed when it leads for the first time
	ended    chan struct{} // closed when it has failed or is lost
	returned chan struct{} // closed when the elector has returned

	mu      sync.Mutex
	stop    context.CancelFunc // nil before Acquire
	leading bool
	err     error // why ended was closed
	seen    bool  // holder is known
	holder  resourcelock.LeaderElectionRecord
	trouble trouble
	quiet   bool // it is being released: what stops now is not lost
}

// New checks the options. It asks the server nothing.
func New(o Options) (*Election, error) {
	switch {
	case o.Namespace == "" || o.Name == "":
		return nil, fmt.Errorf("set up leader election: %q is not a valid lease", o.Namespace+"/"+o.Name)
	case o.Of.Name == "":
		return nil, errors.New("set up leader election: a component is required")
	case o.Client == nil || o.Clock == nil || o.Recorder == nil:
		return nil, errors.New("set up leader election: client, clock and recorder are required")
	case o.LeaseDuration%time.Second != 0 || o.LeaseDuration <= 0:
		return nil, fmt.Errorf("set up leader election: lease duration %s is not a whole number of seconds", o.LeaseDuration)
	case o.RetryPeriod < time.Second && !o.hurried:
		return nil, fmt.Errorf("set up leader election: retry period %s is less than 1s, the resolution at which other candidates see renewals", o.RetryPeriod)
	}
	if o.Identity == "" {
		var err error
		if o.Identity, err = NewIdentity(); err != nil {
			return nil, err
		}
	}
	e := &Election{
		lease:    state.Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: o.Namespace, Name: o.Name},
		identity: o.Identity, of: o.Of, seconds: int(o.LeaseDuration / time.Second), retry: o.RetryPeriod,
		clock: o.Clock, recorder: o.Recorder, noWait: o.NoWait,
		acquired: make(chan struct{}), ended: make(chan struct{}), returned: make(chan struct{}),
	}
	if e.lease.Key() != o.Of.key() {
		e.beside = o.Client
	}
	e.gate = &gate{
		clock: o.Clock, deadline: o.RenewDeadline, within: o.LeaseDuration - o.RenewDeadline,
		why: "this process does not hold the lease " + e.lease.Key(),
	}
	e.gate.lapsed = func(reason string) { e.end(e.lost(e.because(reason))) }
	leases := &versioned{LeasesGetter: o.Client}
	e.inner = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Client: leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
	}
	var err error
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          &lock{Interface: e.inner, e: e, leases: leases},
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		Name: o.Name,
		// Release releases the lease, after the controllers have stopped.
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("set up leader election: %w", err)
	}
	return e, nil
}

// Lease is "namespace/name".
func (e *Election) Lease() string { return e.lease.Key() }

// Grant allows a guard to write while the lease is held.
func (e *Election) Grant(server string, c guard.Confirmation) (guard.ElectionGrant, error) {
	return guard.GrantElection(server, c, e.gate)
}

// Acquire waits as a candidate until this process leads, ctx is done, or an error means
// that it never will. Call it once. Always call Release afterwards.
func (e *Election) Acquire(ctx context.Context) error {
	// The election outlives ctx: it continues while the controllers stop.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.mu.Lock()
	e.stop = stop
	e.mu.Unlock()
	go func() {
		defer close(e.returned)
		e.elector.Run(running)
		if running.Err() == nil {
			e.end(e.lost("it could not be renewed in time"))
		}
	}()
	select {
	case <-e.acquired:
	case <-e.ended:
		return e.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	go e.watchOver(running)
	if e.beside == nil {
		return nil
	}
	looked := make(chan struct{})
	go e.watchUsual(running, looked)
	select {
	case <-looked:
		return nil
	case <-e.ended:
		return e.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watchOver ends the term when its deadline passes, even without writes. It polls,
// because timers stop while the machine is suspended.
func (e *Election) watchOver(ctx context.Context) {
	for left := e.gate.left(); left > 0; left = e.gate.left() {
		timer := time.NewTimer(min(left, e.retry/4))
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-e.ended:
		}
		timer.Stop()
		if ctx.Err() != nil || e.Err() != nil {
			return
		}
	}
	e.gate.lapse()
}

// Left is how long writes may be sent without another renewal; zero if none may.
func (e *Election) Left() time.Duration { return e.gate.left() }

// Lost is closed when the lease was lost or can never be acquired; Err returns why.
func (e *Election) Lost() <-chan struct{} { return e.ended }

// Err is nil until Lost is closed.
func (e *Election) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *Election) lost(reason string) error { return &LostError{Lease: e.lease.Key(), Reason: reason} }

// end closes the gate, then reports that the term is over. The first error is kept.
func (e *Election) end(err error) {
	var lost *LostError
	isLost := errors.As(err, &lost)
	reason := err.Error()
	if isLost {
		reason = lost.Reason
	}
	e.gate.shut(reason)
	e.mu.Lock()
	if e.err != nil || e.quiet {
		e.mu.Unlock()
		return
	}
	e.err = err
	led, event := e.leading, e.event(state.ElectionLost)
	e.leading = false
	stop := e.stop
	e.mu.Unlock()
	if led {
		if event.Holder == e.identity {
			event.Holder, event.Since, event.RenewTime = "", time.Time{}, time.Time{}
		}
		event.Reason = reason
		e.recorder.Record(event)
	}
	close(e.ended)
	if stop != nil {
		stop()
	}
}

// event is called with the lock held.
func (e *Election) event(phase state.ElectionPhase) state.ElectionChanged {
	return state.ElectionChanged{
		Lease: e.lease, Phase: phase, Identity: e.identity,
		Holder: e.holder.HolderIdentity, Since: e.holder.AcquireTime.Time, RenewTime: e.holder.RenewTime.Time,
	}
}

// saw processes the lease as read, and whether it has changed since the last read.
func (e *Election) saw(record *resourcelock.LeaderElectionRecord, changed bool) {
	e.mu.Lock()
	before, known := e.holder, e.seen
	e.holder, e.seen = *record, true
	again := e.over(e.trouble.verb == "read" || e.trouble.verb == "take" && record.HolderIdentity != "")
	other := record.HolderIdentity != "" && record.HolderIdentity != e.identity
	leading := e.leading
	event := e.event(state.ElectionCandidate)
	e.mu.Unlock()
	e.works(again)
	if now := time.Now(); other && !changed && expired(record, now) {
		event.Expired = runsOut(record)
		event.Wait = time.Duration(max(record.LeaseDurationSeconds, e.seconds)) * time.Second
	}

	if leading && record.HolderIdentity != e.identity {
		e.end(e.lost("it is unexpectedly " + cmp.Or(prefixed("held by ", record.HolderIdentity), "without a holder")))
		return
	}
	if leading {
		return
	}
	if !known || before.HolderIdentity != record.HolderIdentity {
		e.recorder.Record(event)
	}
	if e.noWait && other && (changed || !expired(record, time.Now())) {
		e.end(&HeldError{Lease: e.lease.Key(), Holder: record.HolderIdentity, Since: record.AcquireTime.Time, RenewTime: record.RenewTime.Time})
	}
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// expired reports whether a lease has expired by the holder's clock and this one. It
// can only delay a takeover: a candidate must also have seen the lease unchanged for
// its duration.
func expired(record *resourcelock.LeaderElectionRecord, now time.Time) bool {
	return runsOut(record).Before(now)
}

func runsOut(record *resourcelock.LeaderElectionRecord) time.Time {
	return record.RenewTime.Add(time.Duration(record.LeaseDurationSeconds) * time.Second)
}
