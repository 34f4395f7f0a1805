package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	execcommand "github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
	"github.com/kctl-ctrl/kctl-ctrl/internal/faults"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// operatorWrites are the writes of the test operators, as "verb resource name",
// the lease's renewals left out.
var operatorWrites = []string{
	"apply configmaps parent-applied", "create configmaps parent-child", "delete configmaps doomed", "patch configmaps parent",
	"update configmaps updated", "update leases operator",
}

// seedForOperator creates what the operators act on, and the lease of somebody
// who leads for an hour.
func (p *proof) seedForOperator(t *testing.T) {
	t.Helper()
	p.seedConfigMaps(t)
	client := p.Client(t)
	now := metav1.NowMicro()
	_, err := client.CoordinationV1().Leases("default").Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("pod-in-the-cluster"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr.To[int32](1),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// seedConfigMaps creates what the operators act on.
func (p *proof) seedConfigMaps(t *testing.T) {
	t.Helper()
	client := p.Client(t)
	for name, labels := range map[string]map[string]string{"parent": {"operator": "parent"}, "updated": nil, "doomed": nil} {
		_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// plainOperator is the command line of the operator of plain client-go, which works as
// it is told to: "1" to its end, "watch" until it is stopped.
func plainOperator(t *testing.T, works string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"env", asOperator + "=" + works, self}
}

// kubeconfig leads to the proof's sandbox.
func (p *proof) kubeconfig(t *testing.T) string {
	t.Helper()
	return testbed.Kubeconfig(t, p.Sandbox)
}

// builtOperator builds testdata/operator, a module of its own. The name of the
// binary is its user agent: controller-runtime's election has a client of its own.
func builtOperator(t *testing.T) string {
	t.Helper()
	testbed.NeedsSandbox(t)
	b := buildOperator()
	if b.err == nil {
		return b.binary
	}
	// What go says where modules cannot be had; an error in our code is one.
	if regexp.MustCompile(`dial tcp|lookup .*(no such host|server misbehaving)|module lookup disabled|i/o timeout|connection refused|TLS handshake`).Match(b.said) {
		t.Skipf("SKIPPED: the modules of testdata/operator cannot be had here, so controller-runtime is not tested: %s", b.said)
	}
	t.Fatalf("build testdata/operator: %v\n%s", b.err, b.said)
	return ""
}

// buildOperator builds it once for all tests. go run keeps what it has linked in the
// build cache, where go build would link again each time.
var buildOperator = sync.OnceValue(func() (b built) {
	b.binary = filepath.Join(testbed.Dir(), "runtime-operator")
	build := exec.Command("go", "run", "-exec", `sh -c 'cp "$0" "$OPERATOR"'`, ".")
	build.Dir = filepath.Join("testdata", "operator")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "OPERATOR="+b.binary)
	b.said, b.err = build.CombinedOutput()
	return b
})

// built is a program and what its build said.
type built struct {
	binary string
	said   []byte
	err    error
}

// journalOf reads what exec printed with -o json.
func journalOf(t *testing.T, path string) []state.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder, err := state.NewDecoder(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []state.Event
	for {
		entry, err := decoder.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, entry.Event)
	}
}

// TestExecDryRunPersistsNothing runs two operators that know nothing of us, one
// of controller-runtime and one of plain client-go, behind exec. They lead beside
// the holder of their lease, every verb they try is answered, and the server's
// own records say that nothing was changed.
func TestExecDryRunPersistsNothing(t *testing.T) {
	testbed.Parallel(t)
	p := emptyProof(t)
	p.seedForOperator(t)
	kubeconfig := p.kubeconfig(t)
	for _, operator := range []string{"plain-operator", "runtime-operator"} {
		t.Run(operator, func(t *testing.T) {
			command := plainOperator(t, "1")
			if operator == "runtime-operator" {
				command = []string{builtOperator(t)}
			}
			for _, mode := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer} {
				t.Run(string(mode), func(t *testing.T) {
					before := p.Revisions(t)
					earlier, _ := p.Mutations(t)
					journal := filepath.Join(t.TempDir(), "journal")
					args := append([]string{"exec", "--" + string(mode), "--kubeconfig", kubeconfig, "--journal-file", journal, "-o", "json", "--"}, command...)
					if out, err := program(t, args...).CombinedOutput(); err != nil {
						t.Fatalf("the operator: %v\n%s", err, out)
					}
					for _, change := range testbed.Changes(before, p.Revisions(t)) {
						t.Errorf("etcd: %s", change)
					}
					all, real := p.Mutations(t)
					for _, r := range real {
						t.Errorf("audit log: not a dry run: %s", r)
					}
					sent := all[len(earlier):]
					if mode == state.ModeDryRunClient && len(sent) > 0 {
						t.Errorf("audit log: writes left the process: %q", sent)
					}
					if mode == state.ModeDryRunServer && len(sent) < len(operatorWrites)-1 { // the lease stays here
						t.Errorf("audit log: only %q was sent: the server has not seen what it is to bear witness of", sent)
					}
					checkOperatorJournal(t, journalOf(t, journal), operator, mode)
				})
			}
		})
	}
}

func checkOperatorJournal(t *testing.T, events []state.Event, operator string, mode state.Mode) {
	t.Helper()
	var writes, reads []string
	told := false
	for _, e := range events {
		switch e := e.(type) {
		case state.WriteFinished:
			if e.Object.Resource == "events" {
				continue
			}
			if e.Controller != operator || e.Mode != mode || e.Result != state.WriteDry {
				t.Errorf("a write of %s in %s is recorded as %s: %s", operator, mode, e.Mode, state.Describe(e))
			}
			writes = append(writes, e.Verb+" "+e.Object.Resource+" "+e.Object.Name)
		case state.ClientRead:
			reads = append(reads, e.Client+" "+e.Verb+" "+e.Object.Resource)
		case state.Note:
			told = told || strings.Contains(e.Text, "lease default/operator is held by pod-in-the-cluster")
		}
	}
	slices.Sort(writes)
	if got := slices.Compact(writes); !slices.Equal(got, operatorWrites) {
		t.Errorf("the journal has the writes %q, want %q", got, operatorWrites)
	}
	for _, want := range []string{operator + " watch configmaps", operator + " get leases"} {
		if !slices.Contains(reads, want) {
			t.Errorf("the journal lacks %q: %q", want, reads)
		}
	}
	if !told {
		t.Error("nobody was told that somebody else leads")
	}
}

// TestProofSeesExecWithABrokenGuard takes dryRun out of DELETE bodies on their way to
// the server: the operator's delete is carried out, and both records of the server show it.
func TestProofSeesExecWithABrokenGuard(t *testing.T) {
	testbed.WithControllers(t)
	p := emptyProof(t)
	p.seedForOperator(t)
	w := (&contested{Sandbox: &testbed.Sandbox{Sandbox: p.Sandbox}}).way(t, "broken")
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if err := faults.UndryBody(r); err != nil {
			t.Error(err)
		}
		return false
	})
	kubeconfig := w.kubeconfig
	before := p.Revisions(t)
	o := execcommand.Options{IOStreams: genericiooptions.IOStreams{Out: os.Stdout, ErrOut: os.Stderr}, Kubeconfig: genericclioptions.NewConfigFlags(true)}
	o.Kubeconfig.KubeConfig = &kubeconfig
	spec, err := o.Spec(state.ModeDryRunServer, &execcommand.CommandAsking{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer engineflags.ShutDown(s, os.Stderr)
	ctx, signals := execcommand.PassSignals(t.Context(), os.Stderr, execcommand.PassedSignals()...)
	defer signals.Stop()
	if err := o.Work(ctx, s, console.NewProgress(io.Discard), signals, nil, &execcommand.UserCommand{Command: child.Command{Args: plainOperator(t, "1"), Out: o.Out, ErrOut: o.ErrOut}}); err != nil {
		t.Fatal(err)
	}
	gone := testbed.Changes(before, p.Revisions(t))
	if !slices.Equal(gone, []string{"deleted /registry/configmaps/default/doomed"}) {
		t.Errorf("etcd: %q, want the deleted ConfigMap", gone)
	}
	if _, real := p.Mutations(t); len(real) != 1 {
		t.Errorf("audit log: %q, want the one real delete", real)
	}
}

// TestExecStreams: an event reaches the operator's informer while its watch goes
// on, through our process and a real API server.
func TestExecStreams(t *testing.T) {
	testbed.Parallel(t)
	p := emptyProof(t)
	p.seedForOperator(t)
	command := program(t, append([]string{"exec", "--kubeconfig", p.kubeconfig(t), "--"}, plainOperator(t, "watch")...)...)
	lines, _, _ := programtest.Started(t, command)
	programtest.Until(t, lines, "waiting for late")
	if _, err := p.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	programtest.Until(t, lines, "late is here")
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}
