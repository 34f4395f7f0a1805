//go:build handovers

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHundredHandOvers is the long form of TestHandOvers: 100 hand-overs, of which
// every fifth is a leader that was stopped with SIGSTOP, taken over from and woken
// again. What such a leader had under way when it was stopped may reach the API
// server after it woke: each such request is named and counted, and nothing else
// may.
func TestHundredHandOvers(t *testing.T) {
	c := newContested(t)
	c.keepBusy(t, "web-1", "web-2", "web-3")
	for range 20 {
		v := handOver(t, c, 1)
		t.Logf("so far %d terms", len(v.terms))
		stopAndWake(t, c)
	}
}

// stopAndWake stops a leader in the middle of its work until another leads.
func stopAndWake(t *testing.T, c *contested) {
	t.Helper()
	loops := []string{"--controllers=deployment", "--kube-api-qps=-1"}
	// Names of their own: what they had under way must not be counted to others.
	asleep, awake := c.way(t, "asleep"), c.way(t, "awake")
	leader := asleep.start(t, loops...)
	leader.says(t, "1 loop runs: deployment")
	next := awake.start(t, loops...)
	next.says(t, " leads since ")
	await(t, "the leader writes", func() bool { return rule(c.requests(t), shortDeadline).writes["asleep"] > 0 })
	began := time.Now()
	_ = leader.Process.Signal(syscall.SIGSTOP)
	next.says(t, "acquired")
	next.says(t, "1 loop runs: deployment")
	_ = leader.Process.Signal(syscall.SIGCONT)
	leader.exits(t, exitLost)
	_ = next.Process.Signal(syscall.SIGTERM)
	next.exits(t, exitOK)

	v := rule(c.requests(t), shortDeadline)
	late := slices.DeleteFunc(v.late, func(s string) bool { return !strings.HasPrefix(s, "asleep: ") })
	t.Logf("stopped at %s: %d request(s) were under way: %q", began.Format("15:04:05.000"), len(late), late)
	// One connection carries them; a worker has one write under way at a time.
	const workers = 5
	if len(late) > workers*20 {
		t.Errorf("%d requests came late, more than the loop has workers", len(late))
	}
	for _, s := range v.late {
		if !strings.HasPrefix(s, "asleep: ") {
			t.Errorf("late, and never stopped: %s", s)
		}
	}
}
