package settle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
		if busy, _ := s.Look(); len(busy) != 1 || !strings.Contains(busy[0], "waiting for its watch event") {
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
		writes.Finished(state.WriteFinished{Verb: "delete", Result: state.WriteDone, Controller: "gc", Object: state.Ref{Resource: "pods", Namespace: "shop", Name: "gone"}})
		if _, err := s.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := writes.TakeUnconfirmed(), []string{"gc: delete pods shop/gone"}; !slices.Equal(got, want) {
			t.Errorf("unconfirmed writes: %q, want %q", got, want)
		}
		if again := writes.TakeUnconfirmed(); again != nil {
			t.Errorf("taken twice: %q", again)
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
	if words := writes.TakeUnconfirmed(); words != nil {
		t.Errorf("writes that nobody looked at count as unconfirmed: %q", words)
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

// settledAfter says how long Wait takes while work goes on beside it.
func settledAfter(t *testing.T, s *Settler, work func(begin time.Time)) time.Duration {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	defer worker.Wait()
	defer cancel()
	worker.Go(func() {
		for ctx.Err() == nil {
			work(begin)
		}
	})
	if _, err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

func TestRestIsConfirmed(t *testing.T) {
	tests := map[string]struct {
		work     func(l *loops) func(begin time.Time)
		min, max time.Duration
	}{
		"nothing changes": {
			func(*loops) func(time.Time) { return func(time.Time) { time.Sleep(time.Hour) } },
			50 * time.Millisecond, 70 * time.Millisecond,
		},
		"work shows for a moment every 30 ms, for 500 ms": {
			func(l *loops) func(time.Time) {
				return func(begin time.Time) {
					if time.Since(begin) > 500*time.Millisecond {
						time.Sleep(time.Hour)
					}
					time.Sleep(30 * time.Millisecond)
					l.change(func() { l.activity.Moving = []string{"a key"} })
					l.change(func() { l.activity.Moving = nil })
				}
			},
			540 * time.Millisecond, 600 * time.Millisecond,
		},
		"changes that are no work never end": {
			func(l *loops) func(time.Time) {
				return func(time.Time) {
					time.Sleep(7 * time.Millisecond)
					l.change(func() {})
				}
			},
			time.Second, 1100 * time.Millisecond,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLoops()
				took := settledAfter(t, &Settler{Loops: l, Writes: NewWrites(nil)}, tt.work(l))
				if took < tt.min || took > tt.max {
					t.Errorf("at rest after %v, want %v to %v", took, tt.min, tt.max)
				}
			})
		})
	}
}

func TestWorkThatGoesOnIsNeverRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoops()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var worker sync.WaitGroup
		defer worker.Wait()
		worker.Go(func() {
			for ctx.Err() == nil {
				l.change(func() { l.activity.Moving = []string{"a key"} })
				time.Sleep(100 * time.Millisecond)
				l.change(func() { l.activity.Moving = nil })
				time.Sleep(40 * time.Millisecond)
			}
		})
		if _, err := (&Settler{Loops: l, Writes: NewWrites(nil)}).Wait(ctx); err == nil {
			t.Error("at rest")
		}
	})
}

func TestReasonsAreBounded(t *testing.T) {
	l, writes := newLoops(), NewWrites(nil)
	for i := range 1000 {
		writes.Finished(state.WriteFinished{Verb: "create", Result: state.WriteDone, Object: state.Ref{Resource: "pods", Name: fmt.Sprint("web-", i)}, ResourceVersion: "7"})
	}
	l.change(func() { l.activity.Moving = []string{"job-controller: shop/migrate is being processed"} })
	probe := ProbeFunc(func() []string { return []string{"a pod is being started"} })
	s := &Settler{Loops: l, Writes: writes, Probes: []Probe{probe}}
	busy, _ := s.Look()
	if len(busy) != 21 || busy[0] != "a pod is being started" || busy[20] != "and 982 more" {
		t.Errorf("%d reasons: %q", len(busy), busy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Wait(ctx)
	if err == nil || !strings.HasSuffix(err.Error(), "a pod is being started and 1001 more") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkLookWithManyWrites(b *testing.B) {
	writes := NewWrites(nil)
	for i := range 5000 {
		writes.Finished(state.WriteFinished{Verb: "create", Result: state.WriteDone, Object: state.Ref{Resource: "pods", Name: fmt.Sprint("web-", i)}, ResourceVersion: "7"})
	}
	s := &Settler{Loops: newLoops(), Writes: writes}
	b.ReportAllocs()
	for b.Loop() {
		s.Look()
	}
}
