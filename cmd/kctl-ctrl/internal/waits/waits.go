// Package waits describes what a wait for controllers to settle is still for: items in
// progress, with what the journal knows of their keys.
package waits

import (
	"fmt"
	"regexp"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The reasons of the taps that name keys, or only count them.
var (
	readyInQueue   = regexp.MustCompile(`^(\S+): \d+ ready in queue (\S+)$`)
	beingProcessed = regexp.MustCompile(`^(\S+): (.+) is being processed$`)
	dueSoon        = regexp.MustCompile(`^(\S+): (.+) is due in \S+$`)
)

// keysNamed is how many keys of one queue a report names.
const keysNamed = 3

// Describe describes a wait in lines: how long it has lasted, and for what,
// with what the journal knows of the keys.
func Describe(w settle.Waiting, snapshot *state.Snapshot, now time.Time) []string {
	lines := []string{fmt.Sprintf("waiting for %s: %s", state.Short(w.For), settle.InProgress(w.Total))}
	for _, item := range w.Items {
		for _, line := range describeItem(item, snapshot, now) {
			lines = append(lines, "  - "+line)
		}
	}
	if more := w.Total - len(w.Items); more > 0 {
		lines = append(lines, fmt.Sprintf("  - and %d more", more))
	}
	return lines
}

func describeItem(item settle.Item, snapshot *state.Snapshot, now time.Time) []string {
	if m := readyInQueue.FindStringSubmatch(item.Text); m != nil {
		if lines := describeReady(m[1], m[2], snapshot, now); len(lines) > 0 {
			return lines
		}
	}
	if m := beingProcessed.FindStringSubmatch(item.Text); m != nil {
		return []string{fmt.Sprintf("%s: %s in flight for %s%s", m[1], m[2], state.Short(item.For), triedBefore(m[1], m[2], snapshot))}
	}
	if m := dueSoon.FindStringSubmatch(item.Text); m != nil {
		return []string{item.Text + triedBefore(m[1], m[2], snapshot)}
	}
	return []string{fmt.Sprintf("%s (for %s)", item.Text, state.Short(item.For))}
}

// describeReady names the keys of a queue that no worker has dequeued, the first
// ones.
func describeReady(controller, queue string, snapshot *state.Snapshot, now time.Time) (lines []string) {
	more := 0
	for key := range snapshot.KeysOf(controller, queue) {
		switch {
		case key.Phase != state.PhaseReady:
		case len(lines) == keysNamed:
			more++
		default:
			lines = append(lines, fmt.Sprintf("%s: %s queued for %s%s", controller, key.Key, state.Short(max(0, now.Sub(key.Since))), historyOf(key)))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%s: %d more in queue %s", controller, more, queue))
	}
	return lines
}

// triedBefore is what is known of a key's earlier syncs, in whatever queue.
func triedBefore(controller, key string, snapshot *state.Snapshot) string {
	for queue := range snapshot.QueuesOf(controller) {
		if k := snapshot.Key(controller, queue.Name, key); k != nil {
			return historyOf(k)
		}
	}
	return ""
}

func historyOf(key *state.Key) string {
	text := ""
	if key.Retries > 0 {
		text = fmt.Sprintf(", retries: %d", key.Retries)
	}
	if key.LastError != "" {
		text += ", last error: " + state.OneLine(key.LastError)
	}
	return text
}
