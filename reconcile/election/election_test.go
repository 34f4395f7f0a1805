package election

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

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
	tr.updating(func() error {
		tr.clock.advance(renewDeadline / 4) // on the way there and back
		return nil
	})
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

// Trouble with the lease is said once, by its name, and so is its end; a term that
// ends by it says so.
func TestTroubleIsSaidAndItsEnd(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	refused := 0
	tr.updating(func() error {
		if refused++; refused > 3 {
			return nil
		}
		return apierrors.NewTooManyRequests("slow down", 1)
	})
	before := tr.versionNow()
	tr.until(t, "it has renewed again", func() bool { return tr.versionNow() > before+1 })
	said := tr.notes()
	want := "could not write the lease kube-system/kcm: 429 Too Many Requests: slow down\ncould write the lease kube-system/kcm again"
	if said != want {
		t.Errorf("it said %q, want %q", said, want)
	}
	tr.updating(func() error {
		tr.clock.advance(renewDeadline / 4)
		return apierrors.NewTooManyRequests("slow down", 1)
	})
	tr.mustBeLost(t, "last renewed")
	tr.updating(nil)
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
	tr.updating(func() error { <-block; return errors.New("blocked") })
	tr.clock.advance(time.Hour)
	tr.mustBeShut(t, "last renewed 1h")
	tr.mustBeLost(t, "last renewed 1h")
	tr.updating(nil)
}

// Nobody writes, and still the term ends when renewals do not come through.
func TestBlockedRenewals(t *testing.T) {
	tr := newTrial(t)
	tr.acquire(t)
	tr.updating(func() error {
		tr.clock.advance(renewDeadline / 8)
		return apierrors.NewTooManyRequests("slow down", 1)
	})
	tr.mustBeLost(t, "last renewed")
	tr.updating(nil)
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
	tr.updating(func() (err error) {
		once.Do(func() {
			tr.clock.advance(5 * retryPeriod)
			err = errors.New("lost on the way")
		})
		return err
	})
	tr.until(t, "it is renewed late", func() bool { return slices.Contains(tr.phases(), "renewed late") || tr.reads() < 0 })
	if tr.Err() != nil {
		t.Errorf("a late renewal ended the term: %v", tr.Err())
	}
}

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"half seconds":    {func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond }, "whole number of seconds"},
		"a late deadline": {func(o *Options) { o.RenewDeadline = o.LeaseDuration }, "leaseDuration must be greater"},
		"haste":           {func(o *Options) { o.hurried = false }, "less than 1s"},
		"no component":    {func(o *Options) { o.Of = Component{} }, "a component is required"},
		"no lease":        {func(o *Options) { o.Name = "" }, "is not a valid lease"},
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
