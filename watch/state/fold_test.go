package state

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// TestFoldStories folds the journals in testdata/fold. A story's lines are
//
//	[+DURATION] WHAT [NAME] [field=value…]
//
// and time passes by the duration before the line. Names of controllers are
// kept by "controller" until the next one.
func TestFoldStories(t *testing.T) {
	datadriven.Walk(t, "testdata/fold", func(t *testing.T, path string) {
		story := &story{snapshot: NewSnapshot(Limits{}), at: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), controller: "deployment"}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return story.run(t, d)
		})
	})
}

// small limits make every bound bite.
var tight = Limits{Controllers: 2, Queues: 3, Keys: 4, Done: 2, Syncs: 3, Writes: 2, Informers: 1, Objects: 3, Leases: 2, Notes: 2, Recent: 3, Attempts: 2, Text: 8, Changes: 1,
	Breakpoints: 2, Holds: 2, Questions: 2, Approvals: 1}

func TestFoldOfABatchIsFoldOfEachEntry(t *testing.T) {
	for name, limits := range map[string]Limits{"default limits": {}, "tight limits": tight} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				entries := genEntries.Draw(t, "entries")
				cut := rapid.IntRange(0, len(entries)).Draw(t, "cut")
				one := NewSnapshot(limits)
				for _, e := range entries {
					one = Fold(one, e)
				}
				batches := Fold(Fold(NewSnapshot(limits), entries[:cut]...), entries[cut:]...)
				if a, b := picture(t, one), picture(t, batches); a != b {
					t.Fatalf("one by one:\n%s\nin two batches:\n%s", a, b)
				}
				checkSums(t, batches)
			})
		})
	}
}

// checkSums recounts what Fold keeps as sums.
func checkSums(t fataler, s *Snapshot) {
	t.Helper()
	queues, controllers := map[string]Depths{}, map[string]Depths{}
	for id, k := range s.Keys.All() {
		if id != KeyID(k.Controller, k.Queue, k.Key) || k.Phase == PhaseDone || k.Phase == PhaseDropped || k.Phase != k.phase() {
			t.Fatalf("%q is among the live keys as %+v", id, *k)
		}
		if k.processing && k.ready || k.dirty && !k.processing || k.processing && k.Sync != 0 && k.Sync <= k.last {
			t.Fatalf("impossible key %+v", *k)
		}
		q, c := queues[QueueID(k.Controller, k.Queue)], controllers[k.Controller]
		q.add(k, 1)
		c.add(k, 1)
		queues[QueueID(k.Controller, k.Queue)], controllers[k.Controller] = q, c
	}
	for id, q := range s.Queues.All() {
		if q.Depths != queues[id] {
			t.Fatalf("queue %q counts %+v, its keys are %+v", id, q.Depths, queues[id])
		}
	}
	stalled := 0
	for id, q := range s.Queues.All() {
		if q.Stalled == nil {
			continue
		}
		stalled++
		if e, ok := s.stalled.Get(id); !ok || e != q.Stalled {
			t.Fatalf("queue %q is stalled and the table of stalled queues has %+v", id, e)
		}
	}
	if stalled != s.stalled.Len() {
		t.Fatalf("%d queues are stalled, the table has %d", stalled, s.stalled.Len())
	}
	for name, c := range s.Controllers.All() {
		if c.Now != controllers[name] {
			t.Fatalf("controller %s counts %+v, its keys are %+v", name, c.Now, controllers[name])
		}
	}
	if s.order.Len() != s.Done.Len() {
		t.Fatalf("%d done keys in an order of %d", s.Done.Len(), s.order.Len())
	}
	objects, owned := map[string]int{}, 0
	for id, o := range s.Objects.All() {
		objects[o.Informer]++
		if o.Owner != nil && o.Owner.UID != "" {
			owned++
			if !slices.Contains(slices.Collect(s.OwnedBy(o.Owner.UID)), o) {
				t.Fatalf("%s is not found by its owner", id)
			}
		}
	}
	if owned != s.owned.Len() {
		t.Fatalf("%d owned objects, %d in the index", owned, s.owned.Len())
	}
	for name, i := range s.Informers.All() {
		if i.Objects != objects[name] {
			t.Fatalf("informer %s counts %d objects, the index has %d", name, i.Objects, objects[name])
		}
	}
	for _, b := range s.Bounds() {
		if b.Used > b.Limit {
			t.Fatalf("%s: %d over the limit of %d", b.Name, b.Used, b.Limit)
		}
	}
}

// A key whose history was forgotten comes back without one, also where all of
// it happens in one batch.
func TestForgottenKeysStayForgotten(t *testing.T) {
	var entries []Entry
	for i, key := range []string{"a", "b", "a"} {
		for _, e := range []Event{
			KeyTaken{Controller: "c", Queue: "q", Key: key, Sync: uint64(i + 1)},
			KeyFinished{Controller: "c", Queue: "q", Key: key, Sync: uint64(i + 1)},
		} {
			entries = append(entries, Entry{Seq: uint64(len(entries) + 1), At: base, Event: e})
		}
	}
	s := Fold(NewSnapshot(Limits{Done: 1}), entries...)
	if k := s.Key("c", "q", "a"); k == nil || k.Syncs != 1 || len(k.Attempts) != 1 {
		t.Errorf("key a came back as %+v, want it with one sync", k)
	}
	if s.Key("c", "q", "b") != nil {
		t.Error("key b is remembered beyond the bound")
	}
}

func TestOldSnapshotsNeverChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, left, right := genEntries.Draw(t, "first"), genEntries.Draw(t, "left"), genEntries.Draw(t, "right")
		old := Fold(NewSnapshot(tight), first...)
		before := picture(t, old)
		one := Fold(old, left...)
		oneBefore := picture(t, one)
		Fold(old, right...)
		Fold(one, right...)
		if after := picture(t, old); after != before {
			t.Fatalf("was:\n%s\nis:\n%s", before, after)
		}
		if after := picture(t, one); after != oneBefore {
			t.Fatalf("a sibling changed it; was:\n%s\nis:\n%s", oneBefore, after)
		}
	})
}

// Many goroutines fold from one snapshot and read it; the race detector and
// the results tell whether they share anything that changes.
func TestFoldFromOneSnapshotOnManyGoroutines(t *testing.T) {
	if testing.Short() {
		t.Skip("it folds for seconds")
	}
	base := Fold(nil, longJournal(2000, 0)...)
	more := longJournal(500, 2000)
	want := picture(t, Fold(base, more...))
	results := make(chan string, 8)
	for range cap(results) {
		go func() { results <- picture(t, Fold(base, more...)) }()
	}
	for range cap(results) {
		if got := <-results; got != want {
			t.Fatal("two folds of the same entries differ")
		}
	}
}

// longJournal is what a busy controller leaves: an object's change, a key
// added, taken, a write, finished.
func longJournal(n, from int) []Entry {
	entries := make([]Entry, 0, n)
	for i := from; len(entries) < n; i++ {
		key := fmt.Sprintf("shop/web-%d", i%1000)
		sync := uint64(i + 1)
		ref := Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: key[5:], UID: key}
		cause := Cause{Kind: CauseEvent, Object: &ref, Change: ChangeUpdated, NewRV: strconv.Itoa(i)}
		for _, e := range []Event{
			ObjectChanged{Informer: "deployments.apps", Change: ChangeUpdated, Object: ref, NewRV: strconv.Itoa(i)},
			KeyAdded{Controller: "deployment", Queue: "deployment", Key: key, How: "Add", Cause: cause},
			KeyTaken{Controller: "deployment", Queue: "deployment", Key: key, Sync: sync, Waited: time.Millisecond, Cause: cause},
			WriteFinished{Controller: "deployment", Verb: "update", Object: ref, Result: WriteDone, Cause: Cause{Kind: CauseSync, Sync: sync, Key: key}},
			KeyFinished{Controller: "deployment", Queue: "deployment", Key: key, Sync: sync, Duration: 5 * time.Millisecond, Writes: 1},
		} {
			entries = append(entries, Entry{Seq: uint64(from + len(entries) + 1), At: base.Add(time.Duration(i) * time.Millisecond), Event: e})
		}
	}
	return entries[:n]
}

func FuzzFold(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		s := Fold(NewSnapshot(tight), genEntries.Draw(t, "entries")...)
		checkSums(t, s)
	}))
}

func BenchmarkFold(b *testing.B) {
	for _, batch := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			start := Fold(nil, longJournal(50_000, 0)...)
			entries := longJournal(50_000, 50_000)
			b.ReportAllocs()
			s := start
			for n := 0; b.Loop(); n += batch {
				if n+batch > len(entries) {
					n, s = 0, start
				}
				s = Fold(s, entries[n:n+batch]...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/entry")
		})
	}
}
