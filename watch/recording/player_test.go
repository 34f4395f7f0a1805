package recording

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// play opens a recording and waits until it is read.
func play(t testing.TB, path string) *Player {
	t.Helper()
	p, err := Play(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// write records events as they come, one each millisecond.
func write(t testing.TB, path string, before, syncs int) []state.Entry {
	t.Helper()
	at := base
	h := hub.New(hub.Options{Pending: 1 << 20, Now: func() time.Time { return at }})
	defer h.Close()
	all := h.Subscribe(1 << 20)
	record := func(from, to int) {
		for i := from; i < to; i++ {
			for _, e := range busy(i) {
				at = at.Add(time.Millisecond)
				h.Record(e)
			}
		}
		h.Flush()
	}
	record(0, before)
	w, err := Start(h, path, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record(before, before+syncs)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h.Close()
	var entries []state.Entry
	for {
		next, err := all.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, next...)
	}
}

// Anywhere in a recording, and however one got there, the snapshot is that of the
// entries before.
func TestPlayerShowsWhatWasFolded(t *testing.T) {
	if testing.Short() {
		t.Skip("it folds for seconds")
	}
	middle := filepath.Join(t.TempDir(), "middle.zst")
	journal := write(t, middle, 200, 500)
	_, session := readFile(t, shop)
	for _, c := range []struct {
		name, path string
		entries    []state.Entry
		first      int // entries before the recording begins
	}{
		{"the shop", shop, session, 0},
		{"from the middle of a session", middle, journal, 1002},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(t, c.path)
			status := p.Status()
			if status.Entries != len(c.entries)-c.first || status.Loading || status.Playing || status.Place != 0 || status.Problem != "" {
				t.Fatalf("it is %+v, want %d entries, paused", status, len(c.entries)-c.first)
			}
			if last := c.entries[len(c.entries)-1].At; !status.End.Equal(last) || !status.Now.Equal(status.Start) {
				t.Errorf("it ends at %s, want %s, and shows %s, want the start %s", status.End, last, status.Now, status.Start)
			}
			random := rand.New(rand.NewPCG(1, 2))
			folded := map[int]*state.Snapshot{}
			want := func(place int) *state.Snapshot {
				if folded[place] == nil {
					folded[place] = state.Fold(nil, c.entries[:c.first+place]...)
				}
				return folded[place]
			}
			check := func(what string) {
				t.Helper()
				s := p.Status()
				same(t, what, p.Snapshot(), want(s.Place))
				if s.Place > 0 && !s.Now.Equal(c.entries[c.first+s.Place-1].At) && what != "seek" {
					t.Fatalf("%s: at place %d it shows %s, want %s", what, s.Place, s.Now, c.entries[c.first+s.Place-1].At)
				}
			}
			check("the beginning")
			for range 8 {
				to := status.Start.Add(time.Duration(random.Int64N(int64(status.End.Sub(status.Start)) + 1)))
				if err := p.Seek(to); err != nil {
					t.Fatal(err)
				}
				check("seek")
				if s := p.Status(); !s.Now.Equal(to) || s.Place < s.Entries && !c.entries[c.first+s.Place].At.After(to) || s.Place > 0 && c.entries[c.first+s.Place-1].At.After(to) {
					t.Fatalf("seek to %s: at place %d", to, s.Place)
				}
				place := p.Status().Place
				n := random.IntN(2400) - 1200
				if err := p.Step(n); err != nil {
					t.Fatal(err)
				}
				if got := p.Status().Place; got != max(0, min(status.Entries, place+n)) {
					t.Fatalf("%d from place %d is place %d", n, place, got)
				}
				check("step")
			}
			if err := p.Seek(status.End.Add(time.Hour)); err != nil || p.Status().Place != status.Entries {
				t.Errorf("seek beyond the end: %v, place %d", err, p.Status().Place)
			}
			if err := p.Seek(status.Start.Add(-time.Hour)); err != nil || !p.Status().Now.Equal(status.Start) {
				t.Errorf("seek before the start: %v, %s", err, p.Status().Now)
			}

			var places []int
			for i, e := range c.entries[c.first:] {
				if isError(e.Event) {
					places = append(places, i+1)
				}
			}
			if len(places) < 5 || p.Status().Errors != len(places) {
				t.Fatalf("%d errors, the player says %d", len(places), p.Status().Errors)
			}
			if err := p.Step(-status.Entries); err != nil {
				t.Fatal(err)
			}
			for _, want := range places {
				if found, err := p.NextError(); err != nil || !found || p.Status().Place != want {
					t.Fatalf("next error: %v, %v, place %d, want %d", found, err, p.Status().Place, want)
				}
			}
			check("the last error")
			if found, _ := p.NextError(); found {
				t.Error("an error after the last")
			}
			if err := p.Step(status.Entries); err != nil {
				t.Fatal(err)
			}
			for i := range places {
				want := places[len(places)-1-i]
				if p.Status().Place == want { // it is the recording's last entry
					continue
				}
				if found, err := p.PreviousError(); err != nil || !found || p.Status().Place != want {
					t.Fatalf("previous error: %v, %v, place %d, want %d", found, err, p.Status().Place, want)
				}
			}
		})
	}
}

// It plays by the clock, at its speed, and stops at the end; whoever waits for
// news or reads the stream gets all of it.
func TestPlaying(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.zst")
	journal := write(t, path, 0, 2000) // 10,020 entries in as many milliseconds
	synctest.Test(t, func(t *testing.T) {
		p, err := Play(path)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		stream := p.Subscribe(1 << 20)
		shows := func(after time.Duration) {
			t.Helper()
			synctest.Wait()
			s := p.Status()
			if got := s.Now.Sub(s.Start); got < after-200*time.Millisecond || got > after {
				t.Fatalf("it shows %s after its start, want about %s", got, after)
			}
			// The first entry stands at the start.
			if want := int(s.Now.Sub(s.Start)/time.Millisecond) + 1; s.Place != want && s.Place > 0 {
				t.Fatalf("it is at place %d, want %d", s.Place, want)
			}
		}
		time.Sleep(time.Hour)
		shows(0)
		if err := p.SetPlaying(true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		shows(time.Second)
		p.SetSpeed(0.01) // is taken to be the slowest
		time.Sleep(10 * time.Second)
		shows(2 * time.Second)
		if err := p.SetPlaying(false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		shows(2 * time.Second)
		p.SetSpeed(4)
		if err := p.SetPlaying(true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		shows(6 * time.Second)
		p.SetSpeed(1e9)
		time.Sleep(time.Second)
		synctest.Wait()
		if s := p.Status(); s.Playing || s.Speed != MaxSpeed || s.Place != s.Entries || !s.Now.Equal(s.End) {
			t.Fatalf("at the end it is %+v", s)
		}
		played, err := stream.Next(t.Context())
		if err != nil || len(played) != len(journal) {
			t.Fatalf("the stream has %d entries (%v), want all %d", len(played), err, len(journal))
		}
		same(t, "the stream", state.Fold(nil, played...), p.Snapshot())

		if err := p.SetPlaying(true); err != nil { // again from the beginning
			t.Fatal(err)
		}
		p.SetSpeed(1)
		again, err := stream.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if head, ok := again[0].Event.(state.Checkpoint); !ok || head.Head == nil {
			t.Errorf("after a jump the stream begins with %s", state.Describe(again[0].Event))
		}
		time.Sleep(time.Second)
		if s := p.Status(); !s.Playing || s.Now.Sub(s.Start) > 2*time.Second {
			t.Errorf("played again it is %+v", s)
		}

		if err := p.Seek(p.Status().Start.Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		jumped, err := stream.Next(t.Context())
		if err != nil || len(jumped) != backlog+1 || jumped[backlog].Seq != p.Snapshot().Seq {
			t.Errorf("after a jump the stream has %d entries (%v)", len(jumped), err)
		}
		stream.Close()
		if _, err := stream.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("a closed stream gives %v", err)
		}
	})
}

// Next is the hub's, but for going back: it gives what is not shown yet.
func TestPlayerNext(t *testing.T) {
	p := play(t, shop)
	end := p.Status().End
	var waiting sync.WaitGroup
	seen := make(chan *state.Snapshot)
	waiting.Go(func() {
		for after := uint64(0); ; {
			s, err := p.Next(context.Background(), after)
			if err != nil {
				if !errors.Is(err, hub.ErrClosed) {
					t.Errorf("it ends with %v", err)
				}
				return
			}
			after = s.Seq
			seen <- s
		}
	})
	for _, to := range []time.Time{end, p.Status().Start.Add(time.Second), end} {
		if err := p.Seek(to); err != nil {
			t.Fatal(err)
		}
		if s := <-seen; s != p.Snapshot() {
			t.Errorf("next gives seq %d, shown is %d", s.Seq, p.Snapshot().Seq)
		}
	}
	status, snapshot, err := p.Watch(t.Context(), 0)
	if err != nil || snapshot != p.Snapshot() || status.Place != status.Entries {
		t.Errorf("watch gives %+v, %v", status, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := p.Watch(ctx, status.Generation); !errors.Is(err, context.Canceled) {
		t.Errorf("with nothing new it gives %v", err)
	}
	p.Close()
	waiting.Wait()
	if err := p.Seek(end); err == nil || p.SetPlaying(true) == nil || p.Status().Playing {
		t.Error("a closed player moves")
	}
}

// A long recording keeps fewer snapshots, and still shows every place right.
func TestThinnedIndex(t *testing.T) {
	entries := make([]state.Entry, 40*chunkEntries)
	x := index{base: state.NewSnapshot(state.Limits{}), tail: state.NewSnapshot(state.Limits{}), stride: 1}
	for i := range entries {
		entries[i] = state.Entry{Seq: uint64(i + 1), At: base.Add(time.Duration(i) * time.Second), Event: state.Dropped{Where: "x", Count: 1}}
	}
	x.limit = 4
	for i := 0; i < len(entries); i += chunkEntries {
		x.add(piece{entries: entries[i : i+chunkEntries]})
	}
	kept := 0
	for i, c := range x.chunks {
		if c.before != nil {
			kept++
			if int(c.before.Entries) != i*chunkEntries {
				t.Errorf("before chunk %d are %d entries", i, c.before.Entries)
			}
		}
	}
	if kept > 5 || kept < 2 || x.chunks[0].before == nil {
		t.Errorf("%d snapshots are kept of 40, want 4 or so", kept)
	}
}
