package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func entries(from, to uint64) (out []state.Entry) {
	for seq := from; seq <= to; seq++ {
		out = append(out, state.Entry{Seq: seq, Event: state.Note{Text: "n"}})
	}
	return out
}

// next is what a reader gets that would not wait.
func next(t *testing.T, f *Feed) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := f.Next(ctx)
	var out []string
	for _, e := range got {
		if d, ok := e.Event.(state.Dropped); ok {
			out = append(out, fmt.Sprintf("%d: %d lost at the %s", e.Seq, d.Count, d.Where))
			continue
		}
		out = append(out, fmt.Sprint(e.Seq))
	}
	switch {
	case errors.Is(err, io.EOF):
		out = append(out, "end")
	case err != nil:
		out = append(out, "nothing")
	}
	return strings.Join(out, ", ")
}

// What is beyond the bound is told in its place, once; a restart takes what was not
// read with it, losses and all; after the end comes what is left.
func TestFeed(t *testing.T) {
	f := New(3)
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"nothing yet", func() {}, []string{"nothing"}},
		{"within the bound", func() { f.Offer(entries(1, 2)); f.Offer(entries(3, 3)) }, []string{"1, 2, 3", "nothing"}},
		{"beyond it", func() { f.Offer(entries(4, 5)); f.Offer(entries(6, 8)) }, []string{"4, 5, 6, 8: 2 lost at the subscriber", "nothing"}},
		{"after a loss", func() { f.Offer(entries(9, 9)) }, []string{"9"}},
		{"a restart", func() { f.Offer(entries(10, 14)); f.Restart(entries(2, 3)) }, []string{"2, 3"}},
		{"a restart beyond the bound", func() { f.Restart(entries(1, 5)) }, []string{"1, 2, 3, 5: 2 lost at the subscriber"}},
		{"the end", func() { f.Offer(entries(6, 6)); f.End(); f.End() }, []string{"6", "end", "end"}},
	} {
		step.do()
		for _, want := range step.want {
			if got := next(t, f); got != want {
				t.Errorf("%s: got %q, want %q", step.name, got, want)
			}
		}
	}
}

// Who waits is woken by entries and by the end.
func TestNextWaits(t *testing.T) {
	f := New(0)
	got := make(chan string)
	read := func() {
		entries, err := f.Next(t.Context())
		got <- fmt.Sprint(len(entries), err)
	}
	go read()
	f.Offer(entries(1, 1))
	if text := <-got; text != "1 <nil>" {
		t.Error(text)
	}
	go read()
	f.End()
	if text := <-got; text != "0 EOF" {
		t.Error(text)
	}
}

// A control event finds room beyond the bound, with the loss before it told in its
// place.
func TestControlEventsHaveRoom(t *testing.T) {
	f := New(2)
	pause := state.Entry{Seq: 5, Event: state.PauseChanged{Controller: "a", Paused: true}}
	f.Offer(append(entries(1, 4), pause))
	f.Offer(entries(6, 6))
	got, err := f.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s := state.Fold(nil, got...)
	if !s.Paused("a") || s.Lost != 0 || s.Seq != 6 {
		t.Errorf("%+v: paused %v, %d lost without a word", got, s.Paused("a"), s.Lost)
	}
	if n, _ := s.Dropped.Get("subscriber"); n != 3 {
		t.Errorf("%d entries are counted as dropped, want 3", n)
	}
}
