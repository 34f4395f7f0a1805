package main

import (
	"bufio"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// Who only stands by says so from the first line to the last, and --for bounds it.
func TestStandingBy(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	_, err := c.client.CoordinationV1().Leases("kube-system").Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("node-1_real"), LeaseDurationSeconds: ptr.To[int32](3600),
			AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := c.way(t, "a")
	for name, c := range map[string]struct {
		args []string
		code int
		said string // on standard error
	}{
		"Ctrl-C":    {nil, exit.Interrupted, "not standing by any more"},
		"--for":     {[]string{"--for=2s"}, exit.Failed, "hold the lease kube-system/kube-controller-manager of context contested: not elected within --for=2s: allow more, or stop who holds it"},
		"--timeout": {[]string{"--until-settled", "--timeout=2s"}, exit.Failed, "not elected within --timeout=2s"},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.start(t, append(c.args, "--controllers=deployment")...)
			p.says(t, "started: active once elected")
			p.says(t, "node-1_real leads since ")
			if c.args == nil {
				_ = p.Process.Signal(os.Interrupt)
			}
			p.exits(t, c.code)
			out := strings.Join(p.lines, "\n")
			if said := p.stderr.String(); !strings.Contains(said, c.said) || strings.Contains(said, "stopping the loops") {
				t.Errorf("it said %q", said)
			}
			if c.args == nil && !strings.Contains(out, "This process was not elected: no controller was started, and nothing was written.") || strings.Contains(out, "No controller was started") {
				t.Errorf("it printed\n%s", out)
			}
		})
	}
}

// What standing by used of a bound is gone for the loops.
func TestLeftOfABound(t *testing.T) {
	o := &engineflags.Options{}
	if got := o.Left(time.Minute); got != time.Minute {
		t.Errorf("%s are left without an election", got)
	}
	o.Stood = time.Now().Add(-50 * time.Second)
	if got := o.Left(time.Minute); got > 10*time.Second || got < time.Second {
		t.Errorf("%s are left", got)
	}
	if got := o.Left(time.Second); got <= 0 || got > time.Millisecond {
		t.Errorf("%s are left of what is used up", got)
	}
	if got := o.Left(0); got != 0 {
		t.Errorf("no bound became %s", got)
	}
}

// A recording of loops that write for real says so on standard error.
func TestRecordSaysThatItIsActive(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	w := c.way(t, "a")
	file := t.TempDir() + "/a.jsonl"
	args := append([]string{"record", "-o", file, "--active", "--confirm=" + contestedContext, "--kubeconfig=" + w.kubeconfig, "--controllers=deployment", "--for=2s"}, electionArgs()...)
	p := program(t, args...)
	p.Env = append(p.Env, "XDG_CONFIG_HOME="+t.TempDir())
	var out, said strings.Builder
	p.Stdout, p.Stderr = &out, &said
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	for _, want := range []string{"started: active once elected, context contested", "no process runs these controllers of kube-controller-manager", "acquired: ", "released", "recorded "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing of %q on standard error:\n%s", want, said.String())
		}
	}
	if out.String() != "" || strings.Contains(said.String(), "\x1b") {
		t.Errorf("standard output has %q", out.String())
	}
}

// Who reads no further ("run --active | head") ends the run, and the lease is given
// back.
func TestClosedPipeGivesTheLeaseBack(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.keepBusy(t, "web-1")
	w := c.way(t, "a")
	args := append([]string{"run", "--active", "--confirm=" + contestedContext, "--kubeconfig=" + w.kubeconfig, "--controllers=deployment"}, electionArgs()...)
	p := program(t, args...)
	p.Env = append(p.Env, "XDG_CONFIG_HOME="+t.TempDir())
	var said strings.Builder
	p.Stderr = &said
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	programtest.Until(t, bufio.NewScanner(out), "1 controller runs: deployment")
	_ = out.Close()
	_ = p.Wait()
	if code := p.ProcessState.ExitCode(); code != exit.Interrupted || said.String() != "" {
		t.Errorf("it ended with %d: %s", code, said.String())
	}
	lease, err := c.client.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager", metav1.GetOptions{})
	if err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
		t.Errorf("the lease is left to %q, %v", ptr.Deref(lease.Spec.HolderIdentity, ""), err)
	}
}

// What the API server answers about the lease is said by its name, and that it
// works again.
func TestTooManyRequestsForTheLease(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	p := c.way(t, "a").start(t, "--controllers=deployment")
	p.says(t, "1 controller runs: deployment")
	refused := 0
	p.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !isLease(r) || refused > 0 {
			return false
		}
		refused++
		return tooMany(w, r)
	})
	p.says(t, "could not write the lease kube-system/kube-controller-manager: 429 Too Many Requests")
	p.says(t, "could write the lease kube-system/kube-controller-manager again")
	p.set(tooMany)
	p.exits(t, exit.Lost)
	if said := p.stderr.String(); !strings.Contains(said, "429 Too Many Requests") {
		t.Error(said)
	}
}
