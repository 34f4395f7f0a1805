package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// UnsyncedError says which informers have never delivered a first list: what their
// controllers would have done is not known.
type UnsyncedError struct {
	// Informers are their types, each with the reason where one is known.
	Informers []string
	After     time.Duration
}

func (e *UnsyncedError) Error() string {
	subject := fmt.Sprintf("%d informers have", len(e.Informers))
	if len(e.Informers) == 1 {
		subject = "1 informer has"
	}
	return fmt.Sprintf("%s not synced after %s: %s: what controllers do with these types is not known",
		subject, state.Short(e.After), strings.Join(e.Informers, "; "))
}

// Unsynced are the informers of the controllers that have not delivered their first
// list, each with the reason where the journal has one.
func (e *Engine) Unsynced() []string {
	names := e.tap.Activity().Unsynced
	if len(names) == 0 {
		return nil
	}
	return withReasons(names, e.journal.Flush())
}

func withReasons(names []string, snapshot *state.Snapshot) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		informer, known := snapshot.Informers.Get(name)
		if !known {
			continue
		}
		if reason := cmp.Or(informer.Reason, informer.LastGap); reason != "" {
			out[i] += " (" + state.OneLine(reason) + ")"
		}
	}
	return out
}

// CheckSynced is an error where informers have not synced since began.
func (e *Engine) CheckSynced(began time.Time) error {
	if names := e.Unsynced(); len(names) > 0 {
		return &UnsyncedError{Informers: names, After: time.Since(began)}
	}
	return nil
}

// AwaitsSync is what a start waits for, in words: the informers that have not synced.
func (e *Engine) AwaitsSync() string {
	names := e.Unsynced()
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "1 informer to sync: " + names[0]
	}
	return fmt.Sprintf("%d informers to sync: %s", len(names), state.Few(names, "; "))
}

// WaitSynced waits until all informers have synced or the time is over, and names
// those that have not.
func (e *Engine) WaitSynced(ctx context.Context, within time.Duration, progress func(string)) []string {
	informers.Until(ctx, within, func() bool {
		names := e.tap.Activity().Unsynced
		if len(names) > 0 {
			progress("waiting for informers to sync: " + state.Few(names, ", "))
		}
		return len(names) == 0
	})
	return e.Unsynced()
}
