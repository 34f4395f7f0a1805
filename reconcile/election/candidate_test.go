package election

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestCandidateWaitsForALiveHolder(t *testing.T) {
	tr := newTrial(t)
	stop := tr.live(t)
	defer stop()
	errs := make(chan error, 1)
	go func() { errs <- tr.Acquire(t.Context()) }()
	began := time.Now()
	tr.until(t, "it has been a candidate for two lease durations", func() bool { return tr.reads() > 20 && time.Since(began) > 2*leaseDuration })
	if holder := tr.heldBy(); holder != "other" {
		t.Fatalf("%s has taken over from a live holder", holder)
	}
	tr.mustBeShut(t, "does not hold the lease")
	stop()
	stopped := time.Now()
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(stopped); waited < leaseDuration-leaseDuration/5 {
		t.Errorf("it took over %s after the last renewal", waited)
	}
	if got, want := tr.phases(), []string{"candidate other", "acquired"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// holderless is a client of leases that hides who holds one: a candidate takes it for
// free.
type holderless struct {
	coordinationv1client.LeasesGetter
}

func (h holderless) Leases(namespace string) coordinationv1client.LeaseInterface {
	return holderlessLeases{h.LeasesGetter.Leases(namespace)}
}

type holderlessLeases struct {
	coordinationv1client.LeaseInterface
}

func (h holderlessLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	lease, err := h.LeaseInterface.Get(ctx, name, o)
	if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") != "me" {
		lease = lease.DeepCopy()
		lease.Spec.HolderIdentity = nil
	}
	return lease, err
}

// A candidate that is not told of the holder does what the test above must catch.
func TestBlindCandidateTakesALiveLease(t *testing.T) {
	tr := newTrial(t, func(o *Options) { o.Client = holderless{o.Client} })
	stop := tr.live(t)
	defer stop()
	tr.acquire(t)
	if tr.heldBy() != "me" {
		t.Error("a candidate that sees no holder left the lease alone")
	}
}

// A lease that says nothing of its duration, or little, is given ours: client-go
// would take it over at once.
func TestLeaseWithoutADuration(t *testing.T) {
	for _, seconds := range []*int32{nil, ptr.To[int32](0), ptr.To[int32](-5)} {
		tr := newTrial(t)
		tr.hold("other", seconds, nil)
		began := time.Now()
		tr.acquire(t)
		if waited := time.Since(began); waited < leaseDuration {
			t.Errorf("taken over after %s", waited)
		}
	}
}

// Who waits for a lease that has expired says so, and for how long.
func TestExpiredLeaseIsSaid(t *testing.T) {
	for name, noWait := range map[string]bool{"waits": false, "does not wait for holders": true} {
		tr := newTrial(t, func(o *Options) { o.NoWait = noWait })
		renewed := time.Now().Add(-time.Hour)
		tr.hold("other", ptr.To[int32](1), func(s *coordinationv1.LeaseSpec) { s.RenewTime = ptr.To(metav1.NewMicroTime(renewed)) })
		tr.acquire(t)
		tr.journal.mu.Lock()
		said, ok := tr.events[0].(state.ElectionChanged)
		tr.journal.mu.Unlock()
		if !ok || said.Phase != state.ElectionCandidate || said.Expired.IsZero() || said.Expired.After(renewed.Add(time.Second)) || said.Wait != leaseDuration {
			t.Errorf("%s: %+v", name, said)
		}
	}
}

func TestNoWait(t *testing.T) {
	tr := newTrial(t, func(o *Options) { o.NoWait = true })
	tr.hold("other", ptr.To[int32](15), nil)
	var held *HeldError
	if err := tr.Acquire(t.Context()); !errors.As(err, &held) || held.Holder != "other" || held.Since.IsZero() {
		t.Errorf("got %v", err)
	}

	tr = newTrial(t, func(o *Options) { o.NoWait = true })
	tr.hold("gone", ptr.To[int32](1), func(s *coordinationv1.LeaseSpec) {
		s.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
	})
	tr.acquire(t)
}

// A coordinated election is the API server's to decide.
func TestCoordinated(t *testing.T) {
	tr := newTrial(t)
	tr.hold("other", ptr.To[int32](15), func(s *coordinationv1.LeaseSpec) {
		s.Strategy = ptr.To(coordinationv1.OldestEmulationVersion)
	})
	if err := tr.Acquire(t.Context()); !errors.Is(err, errCoordinated) {
		t.Errorf("got %v", err)
	}
}

func TestInterruptedCandidate(t *testing.T) {
	tr := newTrial(t)
	stop := tr.live(t)
	defer stop()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("Ctrl-C")
	go func() {
		tr.until(t, "it is a candidate", func() bool { return tr.reads() > 2 })
		cancel(interrupted)
	}()
	if err := tr.Acquire(ctx); !errors.Is(err, interrupted) {
		t.Errorf("got %v", err)
	}
	if err := tr.Release(t.Context()); err != nil || tr.heldBy() != "other" {
		t.Errorf("%v, held by %s", err, tr.heldBy())
	}
}
