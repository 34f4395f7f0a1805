//go:build approveloops

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// asked is a session on a sandbox whose loops ask before each write, and someone
// who answers: yes, but to those that are to be skipped.
type asked struct {
	*Engine
	t      *testing.T
	client *kubernetes.Clientset

	mu      sync.Mutex
	skip    map[string]bool
	skipped map[string]int // "controller key: write", in this round
	wrote   map[string]bool
}

// askedHorizon is how far ahead a key may be due and still count as moving: a
// loop that backs off from 5 ms, doubling, is beyond it after eight attempts.
const askedHorizon = 500 * time.Millisecond

func newAsked(t *testing.T) *asked {
	t.Helper()
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, Spec{
		Controllers: options, Horizon: askedHorizon, Approvals: Approvals{Ask: true},
		Sandbox: &Sandbox{Nodes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopEngine(t, s) })
	a := &asked{Engine: s, t: t, skip: map[string]bool{}, skipped: map[string]int{}, wrote: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); a.answer(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.client, err = kubernetes.NewForConfig(s.Config()); err != nil {
		t.Fatal(err)
	}
	return a
}

// answer answers whatever is asked, at once.
func (a *asked) answer(ctx context.Context) {
	gate := a.Gate()
	for {
		changed := gate.Changed()
		for _, q := range gate.Questions() {
			a.mu.Lock()
			what := state.AnswerYes
			if a.wrote[q.Controller] = true; a.skip[q.Controller] {
				what = state.AnswerSkip
				a.skipped[q.Controller+" "+q.Cause.Key+": "+q.Text]++
			}
			a.mu.Unlock()
			_ = gate.Answer(q.ID, what) // it may have been withdrawn
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// skips begins a round in which what these loops write is skipped.
func (a *asked) skips(controllers ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.skip)
	clear(a.skipped)
	for _, c := range controllers {
		a.skip[c] = true
	}
}

// settles fails the test where the loops do not come to rest: a loop that spins
// never does.
func (a *asked) settles(when string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	if _, err := a.WaitSettled(ctx, time.Minute); err != nil {
		var busy []string
		if unsettled := (*settle.UnsettledError)(nil); errors.As(err, &unsettled) {
			busy = unsettled.Reasons
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.t.Fatalf("%s: %v; moving: %q; skipped so far: %v", when, err, busy, a.skipped)
	}
}

// live gives the scenario to the loops in a namespace, and then takes it away.
func (a *asked) live(namespace string) {
	a.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "approval", "scenario.yaml"))
	if err != nil {
		a.t.Fatal(err)
	}
	objects, err := plan.Load(plan.Sources{Files: []string{"-"}, Stdin: bytes.NewReader(bytes.ReplaceAll(text, []byte("NAME"), []byte(namespace)))})
	if err != nil {
		a.t.Fatal(err)
	}
	cluster, err := plan.NewCluster(a.Config())
	if err != nil {
		a.t.Fatal(err)
	}
	// Who does what is otherwise waited for may be skipped.
	if _, err := cluster.Apply(a.t.Context(), objects, plan.Options{NoServiceAccountWait: true, NoQuotaWait: true}); err != nil {
		a.t.Fatal(err)
	}
	a.settles(namespace + " has come")
	for _, err := range []error{
		a.client.CoreV1().Namespaces().Delete(a.t.Context(), namespace, metav1.DeleteOptions{}),
		a.client.CoreV1().Nodes().Delete(a.t.Context(), namespace+"-node", metav1.DeleteOptions{}),
	} {
		if err != nil {
			a.t.Fatal(err)
		}
	}
	// The namespace controller gives a namespace some seconds.
	eventually(a.t, namespace+" is looked at", func() bool {
		for _, due := range a.Tap().Activity().Waiting {
			if due.Key == namespace && due.Controller == "namespace-controller" {
				return a.Tap().RetryNow(due.Controller, due.Queue, due.Key) == nil
			}
		}
		return false
	})
	a.settles(namespace + " is to go")
}

// askedGroups are the loops that the scenario brings to write, in groups that give
// each other no work: those of a group are skipped together.
var askedGroups = [][]string{
	{"clusterrole-aggregation-controller", "disruption-controller", "endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller",
		"ephemeral-volume-controller", "horizontal-pod-autoscaler-controller", "resourcequota-controller", "root-ca-certificate-publisher-controller", "serviceaccount-token-controller",
		"ttl-controller", "validatingadmissionpolicy-status-controller"},
	{"daemonset-controller", "deployment-controller", "job-controller", "node-lifecycle-controller", "persistentvolume-binder-controller", "statefulset-controller"},
	{"persistentvolumeclaim-protection-controller", "replicaset-controller", "ttl-after-finished-controller"},
	{"garbage-collector-controller", "serviceaccount-controller"},
	{"namespace-controller"},
}

// mostAttempts bounds the attempts at one write until its back-off is longer than
// the horizon. Events bring some beside those of the back-off; a loop that spins
// makes thousands.
const mostAttempts = 60

// TestSkippedLoopsBackOff skips what loops write, group by group, while the others
// write: each backs off, and none spins. The loops come to rest though nothing of
// what they want is done, after few attempts at each write.
func TestSkippedLoopsBackOff(t *testing.T) {
	a := newAsked(t)
	a.settles("the start")
	a.round()
	a.live("all-yes")
	wrote := a.round()
	grouped := slices.Concat(askedGroups...)
	for w := range wrote {
		if !slices.Contains(grouped, w) {
			t.Errorf("%s writes in the scenario, and is in no group", w)
		}
	}
	for i, group := range askedGroups {
		a.skips(group...)
		a.live(fmt.Sprintf("no-%d", i+1))
		a.mu.Lock()
		most := map[string]int{}
		for what, n := range a.skipped {
			w, _, _ := strings.Cut(what, " ")
			most[w] = max(most[w], n)
			if n > mostAttempts {
				t.Errorf("%s: tried %d times, it does not back off", what, n)
			}
		}
		a.mu.Unlock()
		for _, w := range group {
			if most[w] == 0 {
				t.Errorf("%s has written nothing that could be skipped: the scenario lacks what it is for", w)
			}
		}
		t.Logf("most attempts at one write: %v", most)
		a.skips()
	}
}

// round gives the loops that have written since the last one.
func (a *asked) round() map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	wrote := a.wrote
	a.wrote = map[string]bool{}
	return wrote
}

// skipped runs all loops for real over the seeds of a proof, behind a gate whose
// policy allows nothing, until each loop that a write is wanted of has tried one.
func (p *proof) skipped(t *testing.T, policy *approve.Policy) {
	t.Helper()
	endpoint := p.Endpoint()
	grant, err := guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	if err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, Spec{Approvals: Approvals{Policy: policy}})
	if err != nil {
		t.Fatal(err)
	}
	defer stopEngine(t, s)
	wrap, err := s.Guarded(guard.Options{Mode: state.ModeActive, Grant: grant, Before: s.Gate().Before})
	if err != nil {
		t.Fatal(err)
	}
	config, err := connect.Server(connect.Endpoint(endpoint), wrap, connect.Limits{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	s.ConnectBy(config, state.ModeActive)
	tried := newAttempts(p.scenarios)
	p.run(t, s, tried, tried.begun, func(w state.WriteFinished) bool {
		if w.Result != state.WriteRefused && len(policy.Allow) == 0 {
			t.Errorf("a write was not skipped: %s", state.Describe(w))
		}
		return true
	})
}

// TestSkippedPersistsNothing: what a gate skips has not left, says the server.
func TestSkippedPersistsNothing(t *testing.T) {
	p := newProof(t)
	before := p.Revisions(t)
	p.skipped(t, &approve.Policy{})
	for _, change := range testbed.Changes(before, p.Revisions(t)) {
		t.Errorf("etcd: %s", change)
	}
	if all, _ := p.Mutations(t); len(all) > 0 {
		t.Errorf("audit log: %d mutating requests left the process: %q", len(all), all)
	}
}

// TestProofSeesABrokenGate lets writes through by a policy that allows everything: the proof must notice, in both
// records.
func TestProofSeesABrokenGate(t *testing.T) {
	p := newProof(t)
	before := p.Revisions(t)
	p.skipped(t, allowEverything(t))
	if len(testbed.Changes(before, p.Revisions(t))) == 0 {
		t.Error("etcd shows no change though the gate lets writes through")
	}
	if _, real := p.Mutations(t); len(real) == 0 {
		t.Error("the audit log shows no write though the gate lets them through")
	}
}

// begun reports whether in each scenario each loop that something is wanted of has
// tried some write: where the first is refused, the second may never come.
func (a *attempts) begun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, sc := range a.scenarios {
		for _, want := range sc.wants {
			loop, _, _ := strings.Cut(strings.TrimPrefix(want, "~"), " ")
			tried := false
			for what := range a.what[sc.name] {
				tried = tried || strings.HasPrefix(what, loop+" ")
			}
			if !tried {
				return false
			}
		}
	}
	return true
}

// allowEverything is a policy that has no write wait.
func allowEverything(t *testing.T) *approve.Policy {
	t.Helper()
	policy, err := approve.Parse("everything.yaml", []byte("apiVersion: "+approve.APIVersion+"\nkind: "+approve.Kind+`
allow:
- controllers: ["*"]
  verbs: [create, update, patch, apply, delete, deletecollection]
  kinds: ["*"]
  namespaces: ["*"]
  clusterScoped: true
`), func(name string) (string, error) { return name, nil })
	if err != nil {
		t.Fatal(err)
	}
	return policy
}
