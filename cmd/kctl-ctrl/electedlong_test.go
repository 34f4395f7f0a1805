//go:build handovers

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
)

// TestHundredHandOvers is the long form of TestHandOvers: 100 hand-overs, of which
// every fifth is a leader that was stopped with SIGSTOP, taken over from and woken
// again. What such a leader had under way when it was stopped may reach the API
// server after it woke: each such request is named and counted, and nothing else
// may.
func TestHundredHandOvers(t *testing.T) {
	c := newContested(t)
	c.keepBusy(t, "web-1", "web-2", "web-3")
	terms, under := 0, 0
	for round := range 20 {
		handOver(t, c, fmt.Sprintf("%d-", round))
		under += stopAndWake(t, c, round)
		terms = len(rule(c.requests(t), shortDeadline).terms)
		t.Logf("round %d: %d terms so far, %d requests under way at a stop", round+1, terms, under)
	}
	v := rule(c.requests(t), shortDeadline)
	writes := 0
	for _, n := range v.writes {
		writes += n
	}
	t.Logf("%d hand-overs, %d writes; under way when their process was stopped: %d; received past the deadline, and sent before it or the stop: %d, of them while another led: %d", terms-1, writes, under, len(v.late), len(v.stray))
	if terms <= 100 {
		t.Errorf("the lease was held in %d terms", terms)
	}
}

// stopAndWake stops a leader in the middle of its work until another leads. What the
// API server received of it from then on has to be writes that the leader's own
// recording says were begun before, at most one for each of its workers and one
// Event.
func stopAndWake(t *testing.T, c *contested, round int) (under int) {
	t.Helper()
	const workers = 5
	loops := []string{"--controllers=deployment", "--kube-api-qps=-1", fmt.Sprintf("--concurrent-deployment-syncs=%d", workers)}
	// Names of their own: what they had under way must not be counted to others.
	asleep, awake := c.way(t, fmt.Sprintf("asleep-%d", round)), c.way(t, fmt.Sprintf("awake-%d", round))
	leader := asleep.start(t, loops...)
	leader.says(t, "1 controller runs: deployment")
	next := awake.start(t, loops...)
	next.says(t, " leads since ")
	await(t, "the leader writes", func() bool { return rule(c.requests(t), shortDeadline).writes[asleep.name] > 10 })
	if err := leader.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	await(t, "the leader has stopped", func() bool { return stopped(t, leader.Process.Pid) })
	began := time.Now()
	next.says(t, "acquired")
	next.says(t, "1 controller runs: deployment")
	await(t, "the next one writes", func() bool { return rule(c.requests(t), shortDeadline).writes[awake.name] > 0 })
	_ = leader.Process.Signal(syscall.SIGCONT)
	leader.exits(t, exit.Lost)
	_ = next.Process.Signal(syscall.SIGTERM)
	next.exits(t, exit.OK)

	writes := sentBy(t, asleep)
	for _, r := range c.requests(t) {
		if r.who != asleep.name || r.lease || !r.received.After(began) {
			continue
		}
		sentAt, found := underWay(&writes, r, began)
		if !found {
			t.Errorf("not under way when its process stopped at %s: %s, received at %s", began.Format("15:04:05.000000"), r.what, r.received.Format("15:04:05.000000"))
			continue
		}
		t.Logf("under way at the stop: %s, sent %s before it, received %s after it", r.what, began.Sub(sentAt), r.received.Sub(began))
		under++
	}
	if under > workers+1 {
		t.Errorf("%d requests were under way, more than the loop has workers", under)
	}
	checkLate(t, rule(c.requests(t), shortDeadline), awake)
	return under
}

// stopped asks the kernel.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name before it is in brackets and may hold anything.
	return strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T")
}
