package settle

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausesGrow(t *testing.T) {
	var got []time.Duration
	for n := range 9 {
		got = append(got, Pause(n))
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute, 5 * time.Minute}
	if !slices.Equal(got, want) {
		t.Errorf("pauses %v, want %v", got, want)
	}
}

// waitReporting waits for a minute on what never ends, and gives the reports.
func waitReporting(t *testing.T, l *loops, work func()) (reports []Waiting) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := &Settler{Loops: l, Writes: NewWrites(nil), Horizon: time.Hour, Report: func(w Waiting) { reports = append(reports, w) }}
	go work()
	if _, err := s.Wait(ctx); err == nil {
		t.Error("settled")
	}
	return reports
}

func TestAWaitIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoops()
		l.change(func() {
			l.activity.Moving = []string{"job-controller: 3 ready in queue job"}
			l.activity.Waiting = []Due{{Controller: "replicaset-controller", Key: "shop/web", At: time.Now().Add(59 * time.Minute)}}
		})
		reports := waitReporting(t, l, func() {
			time.Sleep(12 * time.Second)
			l.change(func() {
				l.activity.Moving = []string{"deployment-controller: shop/web is being processed", "job-controller: 2 ready in queue job"}
			})
		})
		var at []time.Duration
		for _, r := range reports {
			at = append(at, r.For.Round(time.Second))
		}
		if want := []time.Duration{5 * time.Second, 15 * time.Second, 35 * time.Second}; !slices.Equal(at, want) {
			t.Fatalf("reported after %v, want %v", at, want)
		}
		if got := reports[0]; got.Total != 2 || len(got.Items) != 2 || got.Items[0].Text != "job-controller: 3 ready in queue job" {
			t.Errorf("first report: %+v", got)
		}
		want := map[string]time.Duration{
			"job-controller: 2 ready in queue job":               15 * time.Second, // the number is another, the reason the same
			"replicaset-controller: shop/web is due in 58m45s":   15 * time.Second,
			"deployment-controller: shop/web is being processed": 3 * time.Second,
		}
		if n := len(reports[1].Items); n != len(want) {
			t.Errorf("%d items in the second report, want %d", n, len(want))
		}
		for i, item := range reports[1].Items {
			if want[item.Text] != item.For.Round(time.Second) {
				t.Errorf("item %d of the second report: %q for %s, want %s", i, item.Text, item.For, want[item.Text])
			}
		}
		if last := reports[1].Items[len(reports[1].Items)-1].Text; last != "deployment-controller: shop/web is being processed" {
			t.Errorf("the newest item is not the last: %q", last)
		}
	})
}

func TestWhatEndsAndComesBackIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoops()
		moving := func(what ...string) func() { return func() { l.activity.Moving = what } }
		l.change(moving("a: x is being processed", "b: y is being processed"))
		reports := waitReporting(t, l, func() {
			time.Sleep(2 * time.Second)
			l.change(moving("b: y is being processed"))
			time.Sleep(time.Second)
			l.change(moving("a: x is being processed", "b: y is being processed"))
		})
		if got := reports[0].Items; len(got) != 2 || got[0].Text != "b: y is being processed" || got[1].For.Round(time.Second) != 2*time.Second {
			t.Errorf("got %+v, want the second one for 5s and the first one for 2s", got)
		}
	})
}

func TestAQuietWaitIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Settler{Loops: newLoops(), Writes: NewWrites(nil), Report: func(w Waiting) { t.Errorf("reported %+v", w) }}
		if _, err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTheErrorCountsWhatIsLeftOut(t *testing.T) {
	e := &MovingError{Busy: []string{"a", "b", "and 40 more"}, total: 42}
	if e.Total() != 42 {
		t.Errorf("total %d, want 42", e.Total())
	}
}
