package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/internal/faults"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// proof is a sandbox without nodes, scheduler or loops, filled with scenarios that
// give the loops something to create, change and delete. What a dry run did to it is
// read from the API server's audit log and from etcd: neither knows of the guard.
type proof struct {
	*testbed.Proof
	scenarios []scenario
	// flags are the loops', gates those of the API server too.
	flags []string
	//lint:ignore U1000 for the tests with the tags twins and scenarios
	gates map[string]bool
}

// newProof has the scenarios of the default tests, on a shared sandbox.
func newProof(t *testing.T) *proof {
	t.Helper()
	p := emptyProof(t)
	p.seed(t, slices.DeleteFunc(scenarios(), func(sc scenario) bool { return !sc.quick }))
	return p
}

// emptyProof has no scenarios.
func emptyProof(t *testing.T) *proof {
	t.Helper()
	return &proof{Proof: testbed.NewProof(t), flags: loopFlags}
}

//lint:ignore U1000 for the tests with the tags twins and scenarios
func newProofOf(t *testing.T, scenarios []scenario, gates map[string]bool) *proof {
	t.Helper()
	options := testbed.Options(gates)
	options.AuditLog = testbed.AuditFile(t)
	sb, err := sandbox.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(context.Background()) })
	p := &proof{Proof: &testbed.Proof{Sandbox: sb}, gates: gates, flags: loopFlags}
	p.Dial(t)
	p.seed(t, scenarios)
	p.awaitOwnWrites(t)
	return p
}

// seed creates the scenarios' objects.
func (p *proof) seed(t *testing.T, scenarios []scenario) {
	t.Helper()
	p.scenarios = scenarios
	if err := p.seeder(t).seedAll(t.Context(), scenarios); err != nil {
		t.Fatal(err)
	}
}

// awaitOwnWrites returns when kube-apiserver has created its own Service, which
// it does some time after it is ready.
//
//lint:ignore U1000 for the tests with the tags twins and scenarios
func (p *proof) awaitOwnWrites(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		keys := p.Revisions(t)
		return keys["/registry/services/specs/default/kubernetes"] != 0 && keys["/registry/ipaddresses/10.96.0.1"] != 0, nil
	})
	if err != nil {
		t.Fatalf("kube-apiserver has not created its Service: %v", err)
	}
}

// loopFlags let every loop run, and those that wait for long begin earlier.
var loopFlags = []string{
	"--controllers=*,bootstrap-signer-controller,token-cleaner-controller,selinux-warning-controller",
	"--allocate-node-cidrs", "--cluster-cidr=10.244.0.0/16", "--node-cidr-mask-size=24",
	"--pvclaimbinder-sync-period=1s", "--terminated-pod-gc-threshold=1", "--horizontal-pod-autoscaler-sync-period=1s",
	"--node-monitor-grace-period=5s", "--node-monitor-period=1s",
}

// dryRun runs all loops in one mode until it is enough, then stops them. Without
// enough, it is when each wanted write has been tried and answered.
func (p *proof) dryRun(t *testing.T, m state.Mode, broken fault, enough func() bool) *attempts {
	t.Helper()
	s, err := testEngine(t, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	defer stopEngine(t, s)
	trusts, err := LocalGroups(t.Context(), p.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	wrap, err := s.Guarded(guard.Options{Mode: m, TrustsDryRun: trusts})
	if err != nil {
		t.Fatal(err)
	}
	if broken != nil {
		wrap = broken(wrap)
	}
	config, err := connect.Server(connect.Endpoint(p.Endpoint()), wrap, connect.Limits{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	s.ConnectBy(config, m)
	tried := newAttempts(p.scenarios)
	if enough == nil {
		enough = tried.complete
	}
	p.run(t, s, tried, enough, func(w state.WriteFinished) bool {
		if w.Result == state.WriteDone {
			t.Errorf("the journal calls a write of a dry run done: %s", state.Describe(w))
		}
		switch w.Result {
		case state.WriteDry:
			return true
		case state.WriteFailed: // a dry run that the server has judged
			return w.Status == http.StatusConflict
		}
		return false
	})
	return tried
}

// run starts all loops of a session that is connected, and returns when it is
// enough, which is asked after writes. answered looks at every write.
func (p *proof) run(t *testing.T, s *Engine, tried *attempts, enough func() bool, answered func(state.WriteFinished) bool) {
	t.Helper()
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("loops", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(p.flags); err != nil {
		t.Fatal(err)
	}
	options.DefaultThroughput(SandboxQPS, SandboxBurst)
	inputs := p.SigningInputs()
	component, err := options.Complete(controllers.Inputs{
		SigningCertFile: inputs.CertFile, SigningKeyFile: inputs.KeyFile,
		ServiceAccountKeyFile: inputs.ServiceAccountKeyFile, ServiceCIDR: inputs.ServiceCIDR,
	})
	if err != nil {
		t.Fatal(err)
	}
	journal := s.Journal().Subscribe(0)
	if err := s.StartControllers(t.Context(), controllers.Config{Component: component, RootCA: inputs.RootCA}); err != nil {
		t.Fatal(err)
	}
	for _, status := range s.Manager().Statuses() {
		if status.Status != state.ControllerOff {
			tried.running = append(tried.running, status.Controller)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for !enough() {
		entries, err := journal.Next(ctx)
		if err != nil {
			t.Fatalf("the loops did not try, or had no answer to:\n%s\n%s", strings.Join(tried.wanting(), "\n"), tried.summary())
		}
		for _, e := range entries {
			if w, ok := e.Event.(state.WriteFinished); ok {
				tried.add(w, answered(w))
			}
		}
	}
}

// TestDryRunPersistsNothing runs all loops dry, in both ways, over objects that
// make them create, update, patch and delete. The server's own records say that
// nothing was changed. The long form is TestDryRunOfAllScenarios.
func TestDryRunPersistsNothing(t *testing.T) {
	testbed.WithControllers(t)
	newProof(t).persistsNothing(t)
}

// persistsNothing is the proof.
func (p *proof) persistsNothing(t *testing.T) {
	for _, m := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer} {
		t.Run(string(m), func(t *testing.T) {
			before := p.Revisions(t)
			if len(before) < 50 {
				t.Fatalf("only %d keys in etcd: the seeds are missing", len(before))
			}
			earlier, _ := p.Mutations(t)
			tried := p.dryRun(t, m, nil, nil)
			changed := testbed.Changes(before, p.Revisions(t))
			for _, change := range changed {
				t.Errorf("etcd: %s", change)
			}
			all, real := p.Mutations(t)
			for _, r := range real {
				t.Errorf("audit log: not a dry run: %s", r)
			}
			sent := len(all) - len(earlier)
			if m == state.ModeDryRunClient && sent > 0 {
				t.Errorf("audit log: %d mutating requests left the process: %q", sent, all[len(earlier):])
			}
			if m == state.ModeDryRunServer && sent < len(p.scenarios) {
				t.Errorf("audit log: only %d mutating requests were sent: the server has not seen what it is to bear witness of", sent)
			}
			t.Logf("%s; the server received %d mutating requests, of them %d no dry runs; of %d keys in etcd %d changed; loops that tried nothing: %v", tried.summary(), sent, len(real), len(before), len(changed), tried.idle())
		})
	}
}

// TestProofSeesABrokenGuard undoes what the guard does, in one way at a time: the
// proof must notice, in both records.
func TestProofSeesABrokenGuard(t *testing.T) {
	for name, b := range brokenGuards {
		t.Run(name, func(t *testing.T) {
			testbed.WithControllers(t)
			newProof(t).seesBroken(t, b.mode, b.broken, 2)
		})
	}
}

var brokenGuards = map[string]struct {
	mode   state.Mode
	broken fault
}{
	"deletes":  {state.ModeDryRunServer, below(faults.DeleteForReal)},
	"queries":  {state.ModeDryRunServer, below(faults.WriteForReal)},
	"answered": {state.ModeDryRunClient, func(guarded connect.Wrap) connect.Wrap { return faults.SendAnswered(guarded) }},
}

// fault breaks what a guard makes of a transport, from outside.
type fault func(guarded connect.Wrap) connect.Wrap

// below is a fault beneath the guard.
func below(faulty func(http.RoundTripper) http.RoundTripper) fault {
	return func(guarded connect.Wrap) connect.Wrap {
		return func(next http.RoundTripper) http.RoundTripper { return guarded(faulty(next)) }
	}
}

// seesBroken runs the loops behind a broken guard until etcd shows changes of so
// many scenarios.
func (p *proof) seesBroken(t *testing.T, m state.Mode, broken fault, enough int) {
	t.Helper()
	before := p.Revisions(t)
	touched := func() int {
		gone := testbed.Changes(before, p.Revisions(t))
		n := 0
		for _, sc := range p.scenarios {
			if slices.ContainsFunc(gone, func(change string) bool {
				return strings.Contains(change+"/", "/"+sc.name+"/") || strings.Contains(change, "/"+sc.name+"-x-")
			}) {
				n++
			}
		}
		return n
	}
	tried := p.dryRun(t, m, broken, func() bool { return touched() >= enough })
	gone := testbed.Changes(before, p.Revisions(t))
	_, real := p.Mutations(t)
	if len(real) == 0 {
		t.Error("the audit log shows no real write though writes went out as they were")
	}
	t.Logf("%s; seen: %d keys of %d scenarios changed in etcd, %d requests in the audit log that were no dry runs", tried.summary(), len(gone), touched(), len(real))
}

// TestGuardKnowsAllThatTheServerServes asks the sandbox what it serves and has
// the guard judge every verb of every resource and subresource, in every mode.
func TestGuardKnowsAllThatTheServerServes(t *testing.T) {
	testbed.Parallel(t)
	p := emptyProof(t)
	readOnly, err := guard.New(guard.Options{Mode: state.ModeReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	config, err := connect.Server(connect.Endpoint(p.Endpoint()), readOnly.Wrap, connect.Limits{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]string{
		"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost,
		"update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete,
	}
	judged := 0
	for _, list := range lists {
		for _, resource := range list.APIResources {
			name, subresource, _ := strings.Cut(resource.Name, "/")
			for _, verb := range resource.Verbs {
				request, err := http.NewRequest(methods[verb], p.Endpoint().URL+pathOf(list.GroupVersion, name, subresource, verb, resource.Namespaced), nil)
				if err != nil || methods[verb] == "" {
					t.Fatalf("%s %s: verb %q: %v", list.GroupVersion, resource.Name, verb, err)
				}
				if verb == "patch" {
					request.Header.Set("Content-Type", "application/merge-patch+json")
				}
				judge(t, request, fmt.Sprintf("%s %s %s", verb, list.GroupVersion, resource.Name), verb)
				judged++
			}
		}
	}
	if judged < 400 {
		t.Errorf("only %d combinations were judged", judged)
	}
}

func pathOf(groupVersion, name, subresource, verb string, namespaced bool) string {
	path := "/apis/" + groupVersion
	if !strings.Contains(groupVersion, "/") {
		path = "/api/" + groupVersion
	}
	if namespaced {
		path += "/namespaces/ns"
	}
	path += "/" + name
	if subresource != "" || !slices.Contains([]string{"create", "list", "watch", "deletecollection"}, verb) {
		path += "/name"
	}
	if subresource != "" {
		path += "/" + subresource
	}
	return path
}

// judge checks what the four modes make of one request.
func judge(t *testing.T, req *http.Request, what, verb string) {
	t.Helper()
	reads := verb == "get" || verb == "list" || verb == "watch"
	r := request.Classify(req.Method, req.URL, req.Header)
	if r.Kind == request.KindUnknown {
		t.Errorf("%s: the guard does not know it: %s", what, r.Why)
		return
	}
	for _, m := range []state.Mode{state.ModeReadOnly, state.ModeDryRunClient, state.ModeDryRunServer} {
		g, err := guard.New(guard.Options{Mode: m})
		if err != nil {
			t.Fatal(err)
		}
		action := g.Decide(r).Action
		switch r.Kind {
		case request.KindRead:
			if !reads || action != guard.ActionPass {
				t.Errorf("%s in %s: taken for a read, %s", what, m, action)
			}
		case request.KindReview:
			if verb != "create" || action != guard.ActionPass {
				t.Errorf("%s in %s: taken for a question, %s", what, m, action)
			}
		case request.KindConnect:
			if action != guard.ActionRefuse {
				t.Errorf("%s in %s: %s, want it refused", what, m, action)
			}
		case request.KindWrite:
			want := map[state.Mode][]guard.Action{
				state.ModeReadOnly:     {guard.ActionRefuse},
				state.ModeDryRunClient: {guard.ActionAnswer, guard.ActionRefuse},
				state.ModeDryRunServer: {guard.ActionSendDry, guard.ActionRefuse},
			}[m]
			if reads || !slices.Contains(want, action) {
				t.Errorf("%s in %s: %s", what, m, action)
			}
			if action == guard.ActionRefuse && m != state.ModeReadOnly && r.Subresource != "token" {
				t.Errorf("%s in %s: refused: %s", what, m, g.Decide(r).Reason)
			}
		default:
			t.Errorf("%s: %s", what, r.Kind)
		}
	}
}
