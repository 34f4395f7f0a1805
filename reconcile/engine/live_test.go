package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/internal/twin"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// liveFlags are for both controller managers. Simulated kubelets renew their leases
// every ten seconds.
var liveFlags = []string{
	"--controllers=*,bootstrap-signer-controller,token-cleaner-controller,selinux-warning-controller",
	"--allocate-node-cidrs", "--cluster-cidr=10.244.0.0/16", "--node-cidr-mask-size=24",
	"--pvclaimbinder-sync-period=1s", "--terminated-pod-gc-threshold=1", "--horizontal-pod-autoscaler-sync-period=1s",
	"--node-monitor-period=1s",
}

// live is a sandbox with simulated nodes, a scheduler and one controller manager, in
// which scenarios appear once its workers wait.
type live struct {
	*proof
	name string
	// begun is when the scenarios were injected, by the clock of this process.
	begun time.Time

	log *twin.Log
	// known are accounts' results.
	known map[string]string
	read  int64
	last  time.Time // of the last write
}

func newLive(t *testing.T, name string, flags ...string) *live {
	t.Helper()
	sb, err := sandbox.Start(t.Context(), sandbox.Options{
		Audit: sandbox.AuditRequest, AuditLog: testbed.AuditFile(t),
		DisableAdmission: []string{"ServiceAccount"}, ExtraArgs: []string{"--runtime-config=api/all=true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(context.Background()) })
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{sb.EtcdEndpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	return &live{proof: &proof{Proof: &testbed.Proof{Sandbox: sb, Etcd: etcd}, flags: slices.Concat(liveFlags, flags)}, name: name}
}

// simulation is that of both sides: one node, so that no object depends on the
// scheduler's choice. The nodes of scenarios are left alone. There is no
// provisioner: to make one writes to client-go's scheme, which may not happen while
// another simulation runs in this process.
func simulation() simulate.Options {
	return simulate.Options{
		Nodes: 1, Scheduler: true,
		Capacity: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4000"), corev1.ResourceCPU: resource.MustParse("64")},
		Leave:    func(node *corev1.Node) bool { return node.Spec.ProviderID == "" },
	}
}

// ours runs this program's controllers in the sandbox for as long as the test lasts.
// It returns when their workers wait for keys.
func (l *live) ours(t *testing.T) *Engine {
	t.Helper()
	s, err := New(Spec{Log: Log{File: filepath.Join(t.TempDir(), "log")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopEngine(t, s) })
	if err := s.Adopt(l.Sandbox, state.ModeActive); err != nil {
		t.Fatal(err)
	}
	if err := s.Simulate(t.Context(), simulation()); err != nil {
		t.Fatal(err)
	}
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("controllers", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(l.flags); err != nil {
		t.Fatal(err)
	}
	options.DefaultThroughput(SandboxQPS, SandboxBurst)
	inputs := l.SigningInputs()
	component, err := options.Complete(controllers.Inputs{
		SigningCertFile: inputs.CertFile, SigningKeyFile: inputs.KeyFile,
		ServiceAccountKeyFile: inputs.ServiceAccountKeyFile, ServiceCIDR: inputs.ServiceCIDR,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.StartControllers(t.Context(), controllers.Config{Component: component, RootCA: inputs.RootCA}); err != nil {
		t.Fatal(err)
	}
	l.awaitWorkers(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.WaitSettled(ctx, 0); err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitWorkers returns when the workers of all controllers wait for keys.
func (l *live) awaitWorkers(t *testing.T, s *Engine) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		missing := workless(s)
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("no worker waits for keys: %v", missing)
			return
		}
	}
}

// workless are the running controllers with queues of which no goroutine waits for a
// key.
func workless(s *Engine) []string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return []string{err.Error()}
	}
	waits := map[string]bool{}
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if !strings.Contains(stack, ").Get+") {
			continue
		}
		for _, status := range s.Manager().Statuses() {
			if strings.Contains(stack, `"`+status.Controller+`"`) {
				waits[status.Controller] = true
			}
		}
	}
	var out []string
	for _, status := range s.Manager().Statuses() {
		// The pod garbage collector's workers look into their queue every 20 s.
		if status.Controller == names.PodGarbageCollectorController {
			continue
		}
		if len(status.Queues) > 0 && status.Status != state.ControllerOff && !waits[status.Controller] {
			out = append(out, status.Controller)
		}
	}
	return out
}

// others are user agents of what is no controller of kube-controller-manager's.
var others = []string{testbed.SeedAgent, "apply", "simulated-nodes", "kube-scheduler", "simulated-provisioner"}

// play injects scenarios. What is written from now on is read by catchUp.
func (l *live) play(t *testing.T, st *staged, scenarios []scenario) {
	t.Helper()
	l.scenarios = scenarios
	info, err := os.Stat(l.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	l.read = info.Size()
	l.known = l.accounts(t)
	l.log = twin.NewLog(twin.Options{Accounts: l.known, Others: others, Scenario: st.scenarioNamed}, st.known)
	l.begun = time.Now()
	l.last = l.begun
	if err := st.inject(t.Context(), l.Etcd, scenarios); err != nil {
		t.Fatal(err)
	}
}

// playLate has the rest of the scenarios follow.
func (l *live) playLate(t *testing.T, st *staged) {
	t.Helper()
	if err := st.injectLate(t.Context(), l, l.seeder(t)); err != nil {
		t.Fatal(err)
	}
	l.last = time.Now()
}

// accounts maps the last part of a user agent, a controller's name or its account's,
// to the account.
func (l *live) accounts(t *testing.T) map[string]string {
	t.Helper()
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("controllers", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(l.flags); err != nil {
		t.Fatal(err)
	}
	inputs := l.SigningInputs()
	component, err := options.Complete(controllers.Inputs{
		SigningCertFile: inputs.CertFile, SigningKeyFile: inputs.KeyFile,
		ServiceAccountKeyFile: inputs.ServiceAccountKeyFile, ServiceCIDR: inputs.ServiceCIDR,
	})
	if err != nil {
		t.Fatal(err)
	}
	loops, _, err := controllers.Rights(component, "")
	if err != nil {
		t.Fatal(err)
	}
	// kube-controller-manager makes the token controller's client by itself, without
	// an account (app/service_accounts.go).
	out := map[string]string{"tokens-controller": names.ServiceAccountTokenController}
	for _, loop := range loops {
		account := loop.Account
		if account == "" {
			account = loop.Name
		}
		out[loop.Name], out[account] = account, account
	}
	return out
}

// catchUp reads what was added to the audit log.
func (l *live) catchUp(t *testing.T) {
	t.Helper()
	file, err := os.Open(l.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(l.read, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReaderSize(file, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end of this line comes later
			return
		}
		l.read += int64(len(line))
		if bytes.Contains(line, []byte(`"verb":"get"`)) || bytes.Contains(line, []byte(`"verb":"watch"`)) || bytes.Contains(line, []byte(`"verb":"list"`)) {
			continue
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if l.log.Add(&event) {
			l.last = time.Now()
		}
	}
}

// rested waits until no controller has written anything new for a while, at least so
// long after the scenarios have appeared.
func (l *live) rested(t *testing.T, least, quiet, most time.Duration) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		l.catchUp(t)
		now := time.Now()
		if now.Sub(l.begun) >= least && now.Sub(l.last) >= quiet {
			return
		}
		if now.Sub(l.begun) > most {
			t.Logf("%s: still writing after %s", l.name, most)
			return
		}
		<-tick.C
	}
}

// finished waits until what is wanted is written.
func (l *live) finished(t *testing.T, most time.Duration) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for l.catchUp(t); len(l.undone(t)) > 0 && time.Since(l.begun) < most; l.catchUp(t) {
		<-tick.C
	}
}

// undone lists the wanted writes that the API server has not stored, by scenario.
func (l *live) undone(t *testing.T) map[string][]string {
	t.Helper()
	sets := l.log.Sets()
	out := map[string][]string{}
	for _, sc := range l.scenarios {
		for _, want := range sc.wants {
			if !done(want, l.known, sc.name, sets) && !done(insteadOf[sc.name], l.known, sc.name, sets) {
				out[sc.name] = append(out[sc.name], want)
			}
		}
	}
	return out
}

// insteadOf are writes that another controller may do first.
var insteadOf = map[string]string{
	"daemonset-node-tainted": "taint-eviction-controller delete pods",
	"statefulset-done-pod":   "pod-garbage-collector-controller delete pods",
	"statefulset-failed-pod": "pod-garbage-collector-controller delete pods",
	"service-mirror-changed": "endpointslice-mirroring-controller create endpointslices",
}

func done(want string, accounts map[string]string, scenario string, sets map[string]twin.Set) bool {
	want, anywhere := strings.CutPrefix(want, "~")
	parts := strings.Fields(want)
	if len(parts) != 3 {
		return false
	}
	verb := parts[1]
	switch {
	case parts[2] == "events":
		return true // no audit event of them is kept
	case strings.HasSuffix(parts[2], "/status") && verb != "create":
		verb = "write"
	case verb == "apply":
		verb = "patch"
	}
	in := []string{scenario}
	if anywhere {
		in = slices.Collect(maps.Keys(sets))
	}
	for _, name := range in {
		for w := range sets[name] {
			if w.Account == accounts[parts[0]] && w.Verb == verb && w.Resource == parts[2] {
				return true
			}
		}
	}
	return false
}
