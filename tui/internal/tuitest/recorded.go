// Package tuitest has what tests of the terminal UI and of its pages share: the
// recorded session from which goldens are made, and the time on their screens.
package tuitest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Now is the time on every screen of the tests.
func Now() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// recorded is the session of the README's shop on a sandbox, with an image that
// changes and a job that fails.
var recorded = sync.OnceValues(func() ([]state.Entry, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(root, "watch", "recording", "testdata", "shop.jsonl"))
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

// moduleRoot is the directory of go.mod, above the package under test.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("find go.mod: none above the package")
		}
	}
	return "", err
}

// Recorded are the entries of the recorded session.
func Recorded(t testing.TB) []state.Entry {
	t.Helper()
	all, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Shop is the snapshot of the recorded session after a number of its entries; all
// where it is zero.
func Shop(t testing.TB, entries int) *state.Snapshot {
	t.Helper()
	all := Recorded(t)
	if entries == 0 {
		entries = len(all)
	}
	return state.Fold(state.NewSnapshot(state.Limits{}), all[:entries]...)
}

// BusyShop is the recorded session at an entry where many keys are under way, the
// first with the most in queues.
func BusyShop(t testing.TB) *state.Snapshot {
	t.Helper()
	snap, best, at := state.NewSnapshot(state.Limits{}), -1, 0
	for i, e := range Recorded(t) {
		snap = state.Fold(snap, e)
		phases := map[state.Phase]bool{}
		for _, k := range snap.Keys.All() {
			phases[k.Phase] = true
		}
		if n := 100*len(phases) + snap.Keys.Len(); n > best {
			best, at = n, i+1
		}
	}
	return Shop(t, at)
}
