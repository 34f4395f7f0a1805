package election

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// manualClock moves when it is told to.
type manualClock struct {
	mu  sync.Mutex
	now time.Duration
}

func (c *manualClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
}

// store is one Lease with the rules of an API server that count here.
type store struct {
	coordinationv1client.LeaseInterface
	mu       sync.Mutex
	lease    *coordinationv1.Lease
	version  int
	gets     int
	usual    *coordinationv1.Lease // where lease is another
	usualErr error
	changed  chan struct{}
	onUpdate func() error
}

func newStore() *store { return &store{changed: make(chan struct{})} }

func (s *store) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s *store) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *store) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == ControllerManager().Name {
		if s.usualErr != nil {
			return nil, s.usualErr
		}
		if s.usual == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, name)
		}
		return s.usual.DeepCopy(), nil
	}
	s.gets++
	s.tell()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "kcm")
	}
	return s.lease.DeepCopy(), nil
}

func (s *store) put(l *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	s.lease = l.DeepCopy()
	s.lease.ResourceVersion = fmt.Sprint(s.version)
	s.tell()
	return s.lease.DeepCopy()
}

func (s *store) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "leases"}, "kcm")
	}
	return s.put(l), nil
}

func (s *store) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	on := s.onUpdate
	s.mu.Unlock()
	if on != nil {
		if err := on(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.ResourceVersion != s.lease.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "kcm", errors.New("it has changed"))
	}
	return s.put(l), nil
}

// updating has a function called before each update is looked at; an error of its is
// the answer.
func (s *store) updating(on func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onUpdate = on
}

// hold writes the lease as another would, whatever it says now.
func (s *store) hold(who string, seconds *int32, change func(*coordinationv1.LeaseSpec)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &who, LeaseDurationSeconds: seconds, LeaseTransitions: ptr.To[int32](3),
		AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
	}
	if change != nil {
		change(&spec)
	}
	s.put(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kcm"}, Spec: spec})
}

func (s *store) heldBy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}

// until waits for a condition on the store.
func (s *store) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (s *store) reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gets
}

// journal collects what is recorded.
type journal struct {
	mu     sync.Mutex
	events []state.Event
}

func (j *journal) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// phases lists the election's events: "candidate holder", "acquired"….
func (j *journal) phases() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, e := range j.events {
		if e, ok := e.(state.ElectionChanged); ok {
			out = append(out, strings.TrimSpace(string(e.Phase)+" "+e.Holder))
		}
	}
	return out
}

type trial struct {
	*Election
	*store
	*journal
	clock *manualClock
}

const (
	leaseDuration = time.Second
	renewDeadline = 600 * time.Millisecond
	retryPeriod   = 20 * time.Millisecond
)

func newTrial(t *testing.T, adjust ...func(*Options)) *trial {
	t.Helper()
	tr := &trial{store: newStore(), journal: &journal{}, clock: &manualClock{now: time.Hour}}
	o := Options{
		Of: ControllerManager(), Namespace: "kube-system", Name: "kcm", Identity: "me",
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Client: tr.store, Clock: tr.clock, Recorder: tr.journal, hurried: true,
	}
	for _, f := range adjust {
		f(&o)
	}
	var err error
	if tr.Election, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := tr.Release(ctx); err != nil {
			t.Errorf("release: %v", err)
		}
	})
	return tr
}

func (tr *trial) acquire(t *testing.T) {
	t.Helper()
	if err := tr.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, done, err := tr.gate.Enter(); err != nil {
		t.Fatalf("the gate of a leader is shut: %v", err)
	} else {
		done()
	}
}

func (tr *trial) mustBeShut(t *testing.T, why string) {
	t.Helper()
	if _, _, err := tr.gate.Enter(); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("the gate should be shut because %q, got %v", why, err)
	}
}

func (tr *trial) mustBeLost(t *testing.T, why string) {
	t.Helper()
	select {
	case <-tr.Lost():
	case <-time.After(30 * time.Second):
		t.Fatal("the lease was never lost")
	}
	var lost *LostError
	if !errors.As(tr.Err(), &lost) || !strings.Contains(lost.Error(), why) {
		t.Errorf("lost because %v, want %q", tr.Err(), why)
	}
	tr.mustBeShut(t, why)
}

// live renews another's lease until stopped.
func (tr *trial) live(t *testing.T) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	tr.hold("other", ptr.To[int32](1), nil)
	go func() {
		defer close(ended)
		tick := time.NewTicker(leaseDuration / 10)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if tr.heldBy() == "other" {
					tr.hold("other", ptr.To[int32](1), nil)
				}
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}

// notes are the sentences that were recorded.
func (j *journal) notes() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, e := range j.events {
		if n, ok := e.(state.Note); ok {
			out = append(out, n.Text)
		}
	}
	return strings.Join(out, "\n")
}

func (s *store) versionNow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}
