package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func note(i int) state.Event { return state.Note{Source: "test", Text: fmt.Sprint(i)} }

func TestNextGivesOneSnapshotPerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Interval: 100 * time.Millisecond})
		defer h.Close()
		start := time.Now()
		for i := range 1000 {
			h.Record(note(i))
		}
		s, err := h.Next(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if s.Seq != 1000 || s.Entries != 1000 || s.Lost != 0 {
			t.Errorf("the first snapshot is at seq %d with %d entries and %d lost, want all 1000", s.Seq, s.Entries, s.Lost)
		}
		if waited := time.Since(start); waited != 100*time.Millisecond {
			t.Errorf("it came after %s, want one interval", waited)
		}
		go func() {
			time.Sleep(time.Hour)
			h.Record(note(0))
		}()
		if s, err = h.Next(t.Context(), s.Seq); err != nil || s.Seq != 1001 {
			t.Errorf("next snapshot: seq %d, %v, want 1001", s.Seq, err)
		}
		if waited := time.Since(start); waited != time.Hour+200*time.Millisecond {
			t.Errorf("the second came after %s, want an interval after the event", waited)
		}
	})
}

func TestNothingNewNothingFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		defer h.Close()
		before := h.Snapshot()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if _, err := h.Next(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("next on an idle hub: %v, want the deadline", err)
		}
		if h.Snapshot() != before {
			t.Error("a snapshot was made of nothing")
		}
	})
}

func TestOverTheBoundIsCountedInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Pending: 10})
		defer h.Close()
		stream := h.Subscribe(0)
		for i := range 25 {
			h.Record(note(i))
		}
		h.Flush()
		h.Record(note(25))
		s := h.Flush()
		if n, _ := s.Dropped.Get("hub"); n != 15 || s.Lost != 0 {
			t.Errorf("dropped %d, lost %d, want 15 and 0", n, s.Lost)
		}
		entries, err := stream.Next(t.Context())
		if err != nil || len(entries) != 12 {
			t.Fatalf("the stream has %d entries (%v), want 12", len(entries), err)
		}
		if got := entries[10].Event; got != (state.Dropped{Where: "hub", Count: 15}) {
			t.Errorf("entry 11 is %v, want the loss, between what was kept before and after it", got)
		}
		inOrder(t, entries)
	})
}

func inOrder(t *testing.T, entries []state.Entry) {
	t.Helper()
	for i, e := range entries {
		if e.Seq != uint64(i+1) {
			t.Fatalf("entry %d has seq %d", i, e.Seq)
		}
		if i > 0 && e.At.Before(entries[i-1].At) {
			t.Fatalf("entry %d is dated before its predecessor", e.Seq)
		}
	}
}

func TestSlowSubscriberIsToldWhatItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		slow, quick := h.Subscribe(10), h.Subscribe(0)
		for i := range 30 {
			h.Record(note(i))
		}
		h.Flush()
		first, err := slow.Next(t.Context())
		if err != nil || len(first) != 11 || first[10].Event != (state.Dropped{Where: "subscriber", Count: 20}) || first[10].Seq != 30 {
			t.Fatalf("the slow stream gave %d entries, the last %v (%v); want 10 and a loss of 20 at seq 30", len(first), first[len(first)-1], err)
		}
		h.Record(note(30))
		h.Close()
		second, err := slow.Next(t.Context())
		if err != nil || len(second) != 1 || second[0].Seq != 31 {
			t.Errorf("then %v, %v; want entry 31", second, err)
		}
		if _, err := slow.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after the hub closed: %v, want EOF", err)
		}
		all, err := quick.Next(t.Context())
		if err != nil || len(all) != 31 {
			t.Errorf("the quick stream has %d entries (%v), want 31", len(all), err)
		}
		inOrder(t, all)
		if s := state.Fold(nil, append(first, second...)...); s.Lost != 0 {
			t.Errorf("folding the slow stream finds %d lost without a word", s.Lost)
		}
	})
}

func TestCloseFlushesAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Interval: time.Hour})
		type news struct {
			s   *state.Snapshot
			err error
		}
		got := make(chan news, 2)
		for _, after := range []uint64{0, 1} {
			go func() {
				s, err := h.Next(t.Context(), after)
				got <- news{s, err}
			}()
		}
		synctest.Wait()
		h.Record(note(1))
		h.Close()
		h.Close()
		var flushed, closed int
		for range 2 {
			switch n := <-got; {
			case n.err == nil && n.s.Seq == 1:
				flushed++
			case errors.Is(n.err, ErrClosed):
				closed++
			}
		}
		if flushed != 1 || closed != 1 {
			t.Errorf("who waited for 1 got it %d times, who waited for more heard of the end %d times, want once each", flushed, closed)
		}
		h.Record(note(2))
		if h.Flush().Seq != 1 {
			t.Error("an event after Close was taken")
		}
		if _, err := h.Subscribe(0).Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("a stream of a closed hub: %v, want EOF", err)
		}
	})
}

func TestManyRecordersOneOrder(t *testing.T) {
	const recorders, each = 16, 500
	h := New(Options{Interval: time.Millisecond})
	stream := h.Subscribe(0)
	var wg sync.WaitGroup
	for r := range recorders {
		wg.Go(func() {
			for i := range each {
				h.Record(state.Note{Source: fmt.Sprint(r), Text: fmt.Sprint(i)})
			}
		})
	}
	go func() {
		wg.Wait()
		h.Close()
	}()
	var all []state.Entry
	for {
		entries, err := stream.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
	}
	if len(all) != recorders*each {
		t.Fatalf("%d entries, want %d", len(all), recorders*each)
	}
	inOrder(t, all)
	next := map[string]int{}
	for _, e := range all {
		n := e.Event.(state.Note)
		if n.Text != fmt.Sprint(next[n.Source]) {
			t.Fatalf("recorder %s: event %s came where %d was due", n.Source, n.Text, next[n.Source])
		}
		next[n.Source]++
	}
	if s := h.Snapshot(); s.Entries != recorders*each {
		t.Errorf("the last snapshot has %d entries", s.Entries)
	}
}

func TestSubscriptionCloseEndsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		defer h.Close()
		s := h.Subscribe(0)
		ended := make(chan error)
		go func() {
			_, err := s.Next(t.Context())
			ended <- err
		}()
		synctest.Wait()
		s.Close()
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("next: %v, want EOF", err)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			h := New(Options{Pending: 1 << 20})
			defer h.Close()
			b.ReportAllocs()
			b.SetParallelism(goroutines)
			b.RunParallel(func(pb *testing.PB) {
				var e state.Event = state.KeyAdded{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", How: "Add"}
				for pb.Next() {
					h.Record(e)
				}
			})
		})
	}
}

// Control events have room beyond the bound. Where that was too little, what is in
// force is stated again, once there is room.
func TestControlEventsAreNotLost(t *testing.T) {
	h := New(Options{Interval: time.Hour, Pending: 2, Reserve: 2})
	defer h.Close()
	stated := 0
	h.OnControlLoss(func() {
		stated++
		h.Record(state.ControlsRestated{Source: state.SourceBreakpoints})
		h.Record(state.PauseChanged{Controller: "b", Paused: true})
	})
	for i := range 4 {
		h.Record(note(i))
	}
	h.Record(state.PauseChanged{Controller: "a", Paused: true})
	h.Record(note(5))
	s := h.Flush()
	h.stateAgain()
	if !s.Paused("a") || s.Lost != 0 || stated != 0 {
		t.Errorf("paused %v, lost %d, stated again %d times", s.Paused("a"), s.Lost, stated)
	}
	if n, _ := s.Dropped.Get("hub"); n != 3 {
		t.Errorf("%d entries are counted as dropped, want 3", n)
	}
	for range 5 {
		h.Record(state.PauseChanged{Controller: "a"})
	}
	h.Flush()
	h.stateAgain()
	h.stateAgain()
	if s := h.Flush(); stated != 1 || s.Paused("a") || !s.Paused("b") {
		t.Errorf("stated again %d times; a is paused %v, b %v", stated, s.Paused("a"), s.Paused("b"))
	}
}
