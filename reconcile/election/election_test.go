package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	onUpdate func() error // before an update is looked at
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

func TestGateShutsAtTheDeadline(t *testing.T) {
	clock := &manualClock{now: time.Hour}
	lapses := 0
	g := &gate{clock: clock, deadline: 10 * time.Second, within: 5 * time.Second, why: "not held", lapsed: func(string) { lapses++ }}
	if _, _, err := g.Enter(); err == nil || err.Error() != "not held" {
		t.Errorf("before it leads: %v", err)
	}
	if _, open := g.renew(clock.Now()); !open {
		t.Fatal("the first renewal does not open the gate")
	}
	clock.advance(10*time.Second - 1)
	within, done, err := g.Enter()
	if err != nil || within != 5*time.Second {
		t.Fatalf("before the deadline: %s, %v", within, err)
	}
	done()
	if err := g.Open(); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	if gap, open := g.renew(clock.Now()); !open || gap != 10*time.Second-1 {
		t.Errorf("renewed: %s, %v", gap, open)
	}
	clock.advance(10 * time.Second)
	if err := g.Open(); err == nil || !strings.Contains(err.Error(), "last renewed 10s ago") {
		t.Errorf("at the deadline: %v", err)
	}
	for range 2 {
		if _, _, err := g.Enter(); err == nil || !strings.Contains(err.Error(), "last renewed 10s ago") {
			t.Errorf("at the deadline: %v", err)
		}
	}
	if lapses != 1 {
		t.Errorf("the lapse was told %d times", lapses)
	}
	if _, open := g.renew(clock.Now()); open {
		t.Error("a renewal opened a gate that had shut")
	}
}

// A confirmation that comes after the deadline opens nothing.
func TestLateFirstConfirmation(t *testing.T) {
	clock := &manualClock{now: time.Hour}
	g := &gate{clock: clock, deadline: time.Second, lapsed: func(string) {}}
	at := clock.Now()
	clock.advance(time.Second)
	if _, open := g.renew(at); open {
		t.Error("the gate is open")
	}
}

func TestRenewalCountsFromBeforeItsRequest(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	left := make(chan time.Duration, 1)
	tr.store.mu.Lock()
	tr.store.onUpdate = func() error {
		tr.clock.advance(renewDeadline / 4) // on the way there and back
		return nil
	}
	tr.store.mu.Unlock()
	before := tr.versionNow()
	tr.until(t, "it has renewed", func() bool {
		tr.store.mu.Lock()
		defer tr.store.mu.Unlock()
		if tr.version < before+3 {
			return false
		}
		tr.store.onUpdate = nil
		return true
	})
	left <- tr.gate.left()
	if got := <-left; got > renewDeadline*3/4 {
		t.Errorf("%s are left of %s after a renewal that was under way for %s", got, renewDeadline, renewDeadline/4)
	}
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

// The broken build does what the test above must catch.
func TestBrokenCandidateTakesALiveLease(t *testing.T) {
	tr := newTrial(t, func(o *Options) { o.Broken.TakeLive = true })
	stop := tr.live(t)
	defer stop()
	tr.acquire(t)
	if tr.heldBy() != "me" {
		t.Error("the broken build left a live lease alone")
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

// Trouble with the lease is said once, by its name, and so is its end; a term that
// ends by it says so.
func TestTroubleIsSaidAndItsEnd(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	refused := 0
	tr.store.mu.Lock()
	tr.store.onUpdate = func() error {
		if refused++; refused > 3 {
			return nil
		}
		return apierrors.NewTooManyRequests("slow down", 1)
	}
	tr.store.mu.Unlock()
	before := tr.versionNow()
	tr.until(t, "it has renewed again", func() bool { return tr.versionNow() > before+1 })
	said := tr.notes()
	want := "could not write the lease kube-system/kcm: 429 Too Many Requests: slow down\ncould write the lease kube-system/kcm again"
	if said != want {
		t.Errorf("it said %q, want %q", said, want)
	}
	tr.store.mu.Lock()
	tr.store.onUpdate = func() error {
		tr.clock.advance(renewDeadline / 4)
		return apierrors.NewTooManyRequests("slow down", 1)
	}
	tr.store.mu.Unlock()
	tr.mustBeLost(t, "last renewed")
	tr.store.mu.Lock()
	tr.store.onUpdate = nil
	tr.store.mu.Unlock()
	if !strings.Contains(tr.Err().Error(), "(could not write it: 429 Too Many Requests: slow down)") {
		t.Error(tr.Err())
	}
}

// The machine sleeps: every timer stands still but the clock that counts.
func TestSuspend(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	block := make(chan struct{})
	defer close(block)
	tr.store.mu.Lock()
	tr.store.onUpdate = func() error { <-block; return errors.New("blocked") }
	tr.store.mu.Unlock()
	tr.clock.advance(time.Hour)
	tr.mustBeShut(t, "last renewed 1h")
	tr.mustBeLost(t, "last renewed 1h")
	tr.store.mu.Lock()
	tr.store.onUpdate = nil
	tr.store.mu.Unlock()
}

// Nobody writes, and still the term ends when renewals do not come through.
func TestBlockedRenewals(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	tr.store.mu.Lock()
	tr.store.onUpdate = func() error {
		tr.clock.advance(renewDeadline / 8)
		return apierrors.NewTooManyRequests("slow down", 1)
	}
	tr.store.mu.Unlock()
	tr.mustBeLost(t, "last renewed")
	tr.store.mu.Lock()
	tr.store.onUpdate = nil
	tr.store.mu.Unlock()
	if got := tr.phases(); !slices.Equal(got, []string{"candidate", "acquired", "lost"}) {
		t.Errorf("recorded %q", got)
	}
}

func TestTakenOver(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	tr.hold("thief", ptr.To[int32](15), nil)
	tr.mustBeLost(t, "held by thief")
	if got := tr.phases(); !slices.Equal(got, []string{"candidate", "acquired", "lost thief"}) {
		t.Errorf("recorded %q", got)
	}
	if err := tr.Release(t.Context()); err != nil || tr.heldBy() != "thief" {
		t.Errorf("the release took the lease from %s: %v", tr.heldBy(), err)
	}
}

// Who held a lease that somebody deletes works on until its deadline.
func TestDeletedUnderItsHolder(t *testing.T) {
	tr := newTrial(t)
	acquired := make(chan error, 1)
	tr.hold("other", ptr.To[int32](15), nil)
	go func() { acquired <- tr.Acquire(t.Context()) }()
	tr.until(t, "it is a candidate", func() bool { return tr.reads() > 2 })
	tr.store.mu.Lock()
	tr.store.lease = nil
	before := tr.store.gets
	tr.store.mu.Unlock()
	tr.clock.advance(15*time.Second - 1)
	tr.until(t, "it has missed the lease", func() bool { return tr.reads() > before+3 })
	if holder := tr.heldBy(); holder != "" {
		t.Fatalf("%s holds the lease while other may still work", holder)
	}
	tr.clock.advance(1)
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
	if got := tr.phases(); !slices.Equal(got, []string{"candidate other", "candidate", "acquired"}) {
		t.Errorf("recorded %q", got)
	}
}

func TestRenewedLate(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	var once sync.Once
	tr.store.mu.Lock()
	tr.store.onUpdate = func() (err error) {
		once.Do(func() {
			tr.clock.advance(5 * retryPeriod)
			err = errors.New("lost on the way")
		})
		return err
	}
	tr.store.mu.Unlock()
	tr.until(t, "it is renewed late", func() bool { return slices.Contains(tr.phases(), "renewed late") || tr.reads() < 0 })
	if tr.Err() != nil {
		t.Errorf("a late renewal ended the term: %v", tr.Err())
	}
}

// The lease is given back when the writes under way have ended, and not before.
func TestReleaseWaitsForWrites(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	_, done, err := tr.gate.Enter()
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan error, 1)
	go func() { released <- tr.Release(t.Context()) }()
	tr.until(t, "it is being released", func() bool {
		_, again, err := tr.gate.Enter()
		if err == nil {
			again()
		}
		return err != nil
	})
	shut := tr.versionNow()
	tr.until(t, "it has renewed", func() bool { return tr.versionNow() > shut+1 })
	if holder := tr.heldBy(); holder != "me" {
		t.Fatalf("the lease is held by %q while a write is under way", holder)
	}
	tr.mustBeShut(t, "being released")
	done()
	if err := <-released; err != nil || tr.heldBy() != "" {
		t.Errorf("%v, held by %q", err, tr.heldBy())
	}
	if got := tr.phases(); !slices.Equal(got, []string{"candidate", "acquired", "released"}) {
		t.Errorf("recorded %q", got)
	}
}

// A write that does not end keeps the lease from being given away.
func TestReleaseGivesUp(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	_, done, err := tr.gate.Enter()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tr.Release(short); err == nil || !strings.Contains(err.Error(), "1 write(s) are still under way") {
		t.Errorf("got %v", err)
	}
	if holder := tr.heldBy(); holder != "me" {
		t.Errorf("the lease is held by %q", holder)
	}
	if got := tr.phases(); !slices.Equal(got, []string{"candidate", "acquired", "lost"}) {
		t.Errorf("recorded %q", got)
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

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"half seconds":    {func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond }, "whole seconds"},
		"a late deadline": {func(o *Options) { o.RenewDeadline = o.LeaseDuration }, "leaseDuration must be greater"},
		"haste":           {func(o *Options) { o.hurried = false }, "by the second"},
		"no component":    {func(o *Options) { o.Of = Component{} }, "no component"},
		"no lease":        {func(o *Options) { o.Name = "" }, "is no lease"},
		"no clock":        {func(o *Options) { o.Clock = nil }, "required"},
	} {
		o := Options{Of: ControllerManager(), Namespace: "n", Name: "l", LeaseDuration: time.Second, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
			Client: newStore(), Clock: &manualClock{}, Recorder: &journal{}, hurried: true}
		c.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSystemClock(t *testing.T) {
	clock, err := SystemClock()
	if err != nil {
		t.Skip(err)
	}
	a := clock.Now()
	if b := clock.Now(); a <= 0 || b < a {
		t.Errorf("%s, then %s", a, b)
	}
}

func (s *store) versionNow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}
