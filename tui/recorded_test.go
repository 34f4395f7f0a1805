package tui

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// recorded is the session from which the goldens are made: the shop of the README
// on a sandbox, with an image that changes and a job that fails.
var recorded = sync.OnceValues(func() ([]state.Entry, error) {
	f, err := os.Open("../watch/recording/testdata/shop.jsonl")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := state.NewDecoder(f)
	if err != nil {
		return nil, err
	}
	var out []state.Entry
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
})

// shop is the snapshot of the recorded session after a number of its entries; all
// where it is zero.
func shop(t testing.TB, entries int) *state.Snapshot {
	t.Helper()
	all, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	if entries == 0 {
		entries = len(all)
	}
	return state.Fold(state.NewSnapshot(state.Limits{}), all[:entries]...)
}

// shopOptions set the clock to a moment after the snapshot's last entry.
func shopOptions(s *state.Snapshot) Options {
	at := s.At.Add(1500 * time.Millisecond)
	return Options{Now: func() time.Time { return at }}
}
