package election

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

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
	if err := tr.Release(short); err == nil || !strings.Contains(err.Error(), "1 write(s) still in flight") {
		t.Errorf("got %v", err)
	}
	if holder := tr.heldBy(); holder != "me" {
		t.Errorf("the lease is held by %q", holder)
	}
	if got := tr.phases(); !slices.Equal(got, []string{"candidate", "acquired", "lost"}) {
		t.Errorf("recorded %q", got)
	}
}
