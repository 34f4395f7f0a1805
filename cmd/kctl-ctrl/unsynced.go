package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// unsyncedError says which informers have never delivered a first list: what their
// controllers would have done is not known.
type unsyncedError struct {
	// informers are their types, each with the reason where one is known.
	informers []string
	after     time.Duration
}

func (e *unsyncedError) Error() string {
	subject := fmt.Sprintf("%d informers have", len(e.informers))
	if len(e.informers) == 1 {
		subject = "1 informer has"
	}
	return fmt.Sprintf("%s not synced after %s: %s: what controllers do with these types is not known",
		subject, state.Short(e.after), strings.Join(e.informers, "; "))
}

// unsynced are the informers of the controllers that have not delivered their first
// list, each with the reason where the journal has one.
func (s *session) unsynced() []string {
	names := s.tap.Activity().Unsynced
	if len(names) == 0 {
		return nil
	}
	return withReasons(names, s.hub.Flush())
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

// checkSynced is an error where informers have not synced since began.
func (s *session) checkSynced(began time.Time) error {
	if names := s.unsynced(); len(names) > 0 {
		return &unsyncedError{informers: names, after: time.Since(began)}
	}
	return nil
}

// syncWithin is how long a command that starts controllers for a look waits for their
// informers beyond the time that it lets them run.
var syncWithin = 30 * time.Second

// awaitsSync is what a start waits for, in words: the informers that have not synced.
func (s *session) awaitsSync() string {
	names := s.unsynced()
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "1 informer to sync: " + names[0]
	}
	return fmt.Sprintf("%d informers to sync: %s", len(names), fewBy(names, "; "))
}

// waitSynced waits until all informers have synced or the time is over, and names
// those that have not.
func (s *session) waitSynced(ctx context.Context, within time.Duration, progress func(string)) []string {
	waitFor(ctx, within, func() bool {
		names := s.tap.Activity().Unsynced
		if len(names) > 0 {
			progress("waiting for informers to sync: " + few(names))
		}
		return len(names) == 0
	})
	return s.unsynced()
}

// warnUnsynced says which informers have not synced.
func warnUnsynced(out io.Writer, informers []string) {
	fmt.Fprintln(out, "warning: not synced:", render.Sanitise(fewBy(informers, "; ")))
}
