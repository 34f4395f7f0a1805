package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestGateOnAServer holds the renewals up while the loops go on: what the API
// server received of them says whether the gate was shut in time.
func TestGateOnAServer(t *testing.T) {
	for _, broken := range []bool{false, true} {
		t.Run(fmt.Sprintf("broken=%v", broken), func(t *testing.T) {
			testbed.WithControllers(t)
			c := newContested(t)
			c.keepBusy(t, "web-1", "web-2", "web-3")
			w := c.way(t, "a")
			s, end := inProcess(t, w)
			awaitWrites(t, s, state.WriteDone, 20)
			if broken {
				w.set(pretend) // so that the gate does not shut
				deadline := time.Now().Add(time.Minute)
				for len(rule(c.requests(t), shortDeadline).late) == 0 {
					if time.Now().After(deadline) {
						t.Fatal("a gate that stays open lets nothing late out: the test cannot see that it is missing")
					}
					awaitWrites(t, s, state.WriteDone, 5)
				}
				return
			}
			w.set(holdUp)
			awaitWrites(t, s, state.WriteRefused, 50)
			phase := s.Journal().Flush().Election
			end()
			v := rule(c.requests(t), shortDeadline)
			if v.writes["a"] < 20 {
				t.Errorf("%d writes", v.writes["a"])
			}
			checkLate(t, v, w)
			if phase == nil || phase.Phase != state.ElectionLost {
				t.Errorf("the journal's last word of the election is %+v", phase)
			}
		})
	}
}

// TestAskOnACluster: with --ask, nothing but the lease leaves without a yes.
func TestAskOnACluster(t *testing.T) {
	testbed.WithControllers(t)
	c := newContested(t)
	c.keepBusy(t, "web-1")
	s, _ := inProcess(t, c.way(t, "a"), func(spec *engine.Spec) { spec.Approvals.Ask = true })
	gate := s.Gate()
	left := func() (writes []string) {
		for _, r := range c.requests(t) {
			if r.who == "a" && !r.lease && !strings.Contains(r.what, "/events") { // they are not asked about
				writes = append(writes, r.what)
			}
		}
		return writes
	}
	await(t, "a question is asked", func() bool { return len(gate.Questions()) > 0 })
	if writes := left(); len(writes) != 0 {
		t.Errorf("left while the first question stands: %q", writes)
	}
	if err := gate.Answer(gate.Questions()[0].ID, state.AnswerYes); err != nil {
		t.Fatal(err)
	}
	awaitWrites(t, s, state.WriteDone, 1)
	if writes := left(); len(writes) != 1 {
		t.Errorf("left after one yes: %q", writes)
	}
}

// TestHandOvers has two processes hand the lease over, in each of the ways in which
// that happens, and reads from the API server's records that no write came late and
// none came while the other held the lease.
func TestHandOvers(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.keepBusy(t, "web-1", "web-2", "web-3")
	handOver(t, c, "")
}

// handOver goes through all ways of losing the lease once.
func handOver(t *testing.T, c *contested, prefix string) {
	t.Helper()
	loops := []string{"--controllers=deployment", "--kube-api-qps=-1"}
	held := len(rule(c.requests(t), shortDeadline).terms)
	ways := [2]*way{c.way(t, prefix+"a"), c.way(t, prefix+"b")}
	leads := ways[0].start(t, loops...)
	leads.says(t, "acquired")
	for _, lose := range []struct {
		name string
		do   func(*instance)
		code int
	}{
		{"held up", func(p *instance) { p.set(holdUp) }, exit.Lost},
		{"429", func(p *instance) { p.set(tooMany) }, exit.Lost},
		{"asked to end", func(p *instance) { _ = p.Process.Signal(syscall.SIGTERM) }, exit.OK},
		{"killed", func(p *instance) { _ = p.Process.Kill() }, -1},
	} {
		other := ways[0]
		if leads.way == ways[0] {
			other = ways[1]
		}
		other.set(nil)
		next := other.start(t, loops...)
		next.says(t, "candidate")
		next.says(t, " leads since ")
		before := rule(c.requests(t), shortDeadline).writes[leads.name]
		await(t, "the leader writes", func() bool { return rule(c.requests(t), shortDeadline).writes[leads.name] > before })
		lose.do(leads)
		leads.exits(t, lose.code)
		next.says(t, "acquired")
		next.says(t, "1 controller runs: deployment")
		await(t, "the next one writes", func() bool {
			v := rule(c.requests(t), shortDeadline)
			return v.terms[len(v.terms)-1] == next.name
		})
		leads = next
	}
	_ = leads.Process.Signal(syscall.SIGTERM)
	leads.exits(t, exit.OK)
	v := rule(c.requests(t), shortDeadline)
	checkLate(t, v, ways[0], ways[1])
	if len(v.terms)-held < 4 || v.writes[ways[0].name] == 0 || v.writes[ways[1].name] == 0 {
		t.Errorf("the lease was held by %q, writes %v", v.terms, v.writes)
	}
	t.Logf("%d terms, %s wrote %d times and %s %d times", len(v.terms)-held, ways[0].name, v.writes[ways[0].name], ways[1].name, v.writes[ways[1].name])
}

// TestPolicyOnACluster has the API server say what a policy let out: ReplicaSets are
// created, and nothing else is written.
func TestPolicyOnACluster(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.keepBusy(t, "web-1", "web-2")
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(`apiVersion: kctl-ctrl.dev/v1alpha1
kind: ApprovePolicy
allow:
- {controllers: [deployment], verbs: [create], kinds: [replicasets.apps], namespaces: ["*"]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := c.way(t, "a").start(t, "--controllers=deployment", "--approve-policy="+policy)
	p.says(t, "refused")
	allowed := func(r auditedWrite) bool {
		return strings.HasPrefix(r.what, "create /apis/apps/v1/namespaces/default/replicasets")
	}
	await(t, "the policy lets a write out", func() bool { return slices.ContainsFunc(c.requests(t), allowed) })
	_ = p.Process.Signal(syscall.SIGTERM)
	p.exits(t, exit.OK)
	creates, events := 0, 0
	for _, r := range c.requests(t) {
		switch {
		case r.lease, strings.Contains(r.what, "/selfsubject"): // a review stores nothing
		case allowed(r):
			creates++
		case r.what == "create /api/v1/namespaces/default/events":
			events++ // it leaves where the last write for its object did
		default:
			t.Errorf("no rule of the policy covers %s", r.what)
		}
	}
	if events > creates {
		t.Errorf("%d Events tell of %d creates", events, creates)
	}
}
