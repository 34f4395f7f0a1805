package settle

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// loops is the taps' side, set by hand.
type loops struct {
	mu       sync.Mutex
	activity Activity
	seen     map[string]bool
	changed  chan struct{}
}

func newLoops() *loops { return &loops{seen: map[string]bool{}, changed: make(chan struct{})} }

func (l *loops) Activity() Activity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.activity
}

func (l *loops) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *loops) Seen(object state.Ref, version string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[object.Name+"@"+version]
}

func (l *loops) SeenDeleted(object state.Ref) bool { return l.Seen(object, "deleted") }

func (l *loops) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.activity.Generation++
	close(l.changed)
	l.changed = make(chan struct{})
}

// wait runs Wait beside the test and says whether it has returned.
type wait struct {
	done  chan struct{}
	later []Due
	err   error
}

func start(ctx context.Context, s *Settler) *wait {
	w := &wait{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.later, w.err = s.Wait(ctx)
	}()
	return w
}

func (w *wait) settled() bool {
	time.Sleep(time.Second) // synctest's clock: as long as it takes
	synctest.Wait()
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func TestRestMeansThatNothingMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, writes := newLoops(), NewWrites(nil)
		probe := []string{"pod shop/web-1 is being started"}
		var mu sync.Mutex
		s := &Settler{Loops: l, Writes: writes, Horizon: 3 * time.Second, Probes: []Probe{ProbeFunc(func() []string {
			mu.Lock()
			defer mu.Unlock()
			return probe
		})}}
		l.change(func() { l.activity.Moving = []string{"deployment-controller: shop/web is ready"} })
		w := start(t.Context(), s)
		if w.settled() {
			t.Fatal("settled with a key ready")
		}
		l.change(func() { l.activity.Moving = nil })
		if w.settled() {
			t.Fatal("settled with a busy probe")
		}
		mu.Lock()
		probe = nil
		mu.Unlock()
		if !w.settled() {
			t.Fatal("not settled with nothing moving")
		}
	})
}

func TestAWriteIsMovingUntilItsEventIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, writes := newLoops(), NewWrites(nil)
		s := &Settler{Loops: l, Writes: writes}
		release := make(chan struct{})
		transport := writes.Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
			<-release
			writes.Finished(state.WriteFinished{Verb: "create", Result: state.WriteDone, Object: state.Ref{Resource: "pods", Name: "web-1"}, ResourceVersion: "7"})
			return &http.Response{}, nil
		}))
		go func() {
			r, _ := http.NewRequest(http.MethodPost, "https://127.0.0.1/api/v1/namespaces/shop/pods", nil)
			_, _ = transport.RoundTrip(r)
		}()
		synctest.Wait()
		w := start(t.Context(), s)
		if w.settled() {
			t.Fatal("settled with a write under way")
		}
		close(release)
		synctest.Wait()
		if busy, _ := s.Look(); len(busy) != 1 || !strings.Contains(busy[0], "its watch event has not arrived") {
			t.Fatalf("after the answer: busy %q", busy)
		}
		l.change(func() { l.seen["web-1@7"] = true })
		if !w.settled() {
			t.Fatal("not settled after the event was handled")
		}
	})
}

func TestDryRunsHaveNoEvent(t *testing.T) {
	writes := NewWrites(nil)
	for _, w := range []state.WriteFinished{
		{Result: state.WriteDry, Mode: state.ModeDryRunClient, ResourceVersion: "1"},
		{Result: state.WriteDone, Mode: state.ModeDryRunServer, ResourceVersion: "1"},
		{Result: state.WriteFailed, Mode: state.ModeActive},
		{Result: state.WriteRefused, Mode: state.ModeReadOnly},
	} {
		writes.Finished(w)
	}
	if busy, _ := (&Settler{Loops: newLoops(), Writes: writes}).Look(); len(busy) > 0 {
		t.Errorf("answers that persist nothing are waited for: %q", busy)
	}
}

func TestAnEventThatNeverComesIsGivenUpAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := NewWrites(nil)
		s := &Settler{Loops: newLoops(), Writes: writes}
		writes.Finished(state.WriteFinished{Verb: "delete", Result: state.WriteDone, Object: state.Ref{Name: "gone"}})
		if _, err := s.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if writes.Unconfirmed() != 1 {
			t.Errorf("unconfirmed writes: %d, want 1", writes.Unconfirmed())
		}
	})
}

func TestWritesThatNobodyLooksAtAreForgotten(t *testing.T) {
	now := time.Unix(0, 0)
	writes := NewWrites(func() time.Time { return now })
	const perSecond, seconds = 20, 600
	for range perSecond * seconds {
		now = now.Add(time.Second / perSecond)
		writes.Finished(state.WriteFinished{Verb: "update", Result: state.WriteDone, Object: state.Ref{Name: "web"}, ResourceVersion: "7"})
	}
	const most = perSecond * 11
	if n := len(writes.pending); n > most {
		t.Errorf("%d writes are kept, want at most %d", n, most)
	}
	if n := cap(writes.pending); n > 4*most {
		t.Errorf("memory for %d writes is kept", n)
	}
	if n := writes.Unconfirmed(); n != 0 {
		t.Errorf("%d writes that nobody looked at count as unconfirmed", n)
	}
}

func TestTheHorizonDividesNowFromLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoops()
		s := &Settler{Loops: l, Writes: NewWrites(nil), Horizon: 3 * time.Second}
		soon := Due{Controller: "job-controller", Key: "shop/migrate", At: time.Now().Add(2 * time.Second)}
		late := Due{Controller: "deployment-controller", Key: "shop/web", At: time.Now().Add(10 * time.Minute)}
		l.change(func() { l.activity.Waiting = []Due{late, soon} })
		w := start(t.Context(), s)
		if w.settled() {
			t.Fatal("settled with a key due inside the horizon")
		}
		l.change(func() { l.activity.Waiting = []Due{late} })
		if !w.settled() || len(w.later) != 1 || w.later[0] != late {
			t.Fatalf("later: %v, want the deployment's deadline", w.later)
		}
	})
}

func TestTimeRunsOut(t *testing.T) {
	l := newLoops()
	l.change(func() { l.activity.Moving = []string{"job-controller: shop/migrate is being processed"} })
	why := errors.New("30s are over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := (&Settler{Loops: l, Writes: NewWrites(nil)}).Wait(ctx)
	var moving *MovingError
	if !errors.As(err, &moving) || !errors.Is(err, why) || len(moving.Busy) != 1 {
		t.Errorf("got %v", err)
	}
}
