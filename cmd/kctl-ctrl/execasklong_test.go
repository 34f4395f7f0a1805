//go:build execask

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A dry run asks too: nothing of a write is tried before the yes, and nothing is
// stored after it. The election is answered beside the lease's holder all the while.
func TestAskedExecDry(t *testing.T) {
	p := emptyProof(t)
	p.seedForOperator(t)
	kubeconfig, command := p.kubeconfig(t), plainOperator(t, "1")
	for _, mode := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer} {
		t.Run(string(mode), func(t *testing.T) {
			before := p.Revisions(t)
			earlier, _ := p.Mutations(t)
			journal := filepath.Join(t.TempDir(), "journal")
			args := []string{"exec", "--" + string(mode), "--ask", "--kubeconfig", kubeconfig, "--journal-file", journal, "-o", "json", "--command-output", os.DevNull, "--"}
			x := onTerminal(t, 120, 50, append(args, command...)...)
			x.shows("approval 1", "create configmaps default/parent-child")
			if all, _ := p.Mutations(t); len(all) != len(earlier) {
				t.Errorf("sent before the yes: %q", all[len(earlier):])
			}
			x.press("y\n").shows("approval 2", "apply configmaps default/parent-applied").press("c\n")
			if code := x.ends(); code != exit.OK {
				t.Fatalf("exit code %d\n%s", code, x.picture.String())
			}
			for _, change := range testbed.Changes(before, p.Revisions(t)) {
				t.Errorf("etcd: %s", change)
			}
			if _, real := p.Mutations(t); len(real) > 0 {
				t.Errorf("audit log: %q", real)
			}
			checkOperatorJournal(t, journalOf(t, journal), "plain-operator", mode)
		})
	}
}

// The brake holds the command's writes when a limit is passed, and SIGUSR1 releases
// it: the command, which that signal would end, does not get it.
func TestAskedExecBrake(t *testing.T) {
	p := emptyProof(t)
	p.seedConfigMaps(t)
	kubeconfig, operator := p.kubeconfig(t), plainOperator(t, "1")
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := "apiVersion: kctl-ctrl.dev/v1alpha1\nkind: ApprovePolicy\nallow:\n" +
		"- {controllers: [plain-operator], verbs: [create, apply, patch, update, delete], kinds: [ConfigMap], namespaces: [default]}\nlimits: {writesPerMinute: 2}\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := program(t, append([]string{"exec", "--active", "--approve-policy", policy, "--kubeconfig", kubeconfig, "--command-output", os.DevNull, "--"}, operator...)...)
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for round := 1; round <= 2; round++ { // five writes, two by two
		programtest.Until(t, lines, "CIRCUIT BREAKER: no writes until it is released")
		if wrote := p.wrote(t, "plain-operator"); len(wrote) != 2*round {
			t.Errorf("the server has had %q when the brake came on, want %d writes", wrote, 2*round)
		}
		if err := command.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		programtest.Until(t, lines, "the circuit breaker was released by SIGUSR1")
	}
	for lines.Scan() {
	}
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	if wrote := p.wrote(t, "plain-operator"); len(wrote) != 5 {
		t.Errorf("the server has had %q, want five writes", wrote)
	}
}

// A gate that asks nobody is seen by the test that nothing is written before the yes.
func TestAskedExecWithABrokenGate(t *testing.T) {
	for _, broken := range []bool{false, true} {
		p := emptyProof(t)
		p.seedConfigMaps(t)
		kubeconfig, operator := p.kubeconfig(t), plainOperator(t, "1")
		o := exec.Options{IOStreams: genericiooptions.IOStreams{Out: os.Stdout, ErrOut: os.Stderr}, Kubeconfig: genericclioptions.NewConfigFlags(true)}
		o.Kubeconfig.KubeConfig = &kubeconfig
		spec, err := o.Spec(state.ModeActive, &exec.CommandAsking{Approvals: engine.Approvals{Ask: true}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := testEngine(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		ctx, signals := exec.PassSignals(t.Context(), os.Stderr, syscall.SIGUSR2)
		ended := make(chan error, 1)
		go func() {
			ended <- o.Work(ctx, s, console.NewProgress(io.Discard), signals, nil, &exec.UserCommand{Command: child.Command{Args: operator, Out: o.Out, ErrOut: o.ErrOut}})
		}()
		gate := s.Gate()
		if broken {
			go approveAll(ctx, gate)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		} else {
			await(t, "a question", func() bool { return len(gate.Questions()) == 1 })
		}
		wrote := p.wrote(t, "plain-operator")
		if written := len(wrote) > 0; written != broken {
			t.Errorf("broken: %v, nobody has said yes, and the server has had %q", broken, wrote)
		}
		gate.Close() // the operator fails on that
		if !broken {
			<-ended
		}
		signals.Stop()
		engineflags.ShutDown(s, os.Stderr)
	}
}

// approveAll says yes to every question.
func approveAll(ctx context.Context, gate *approve.Gate) {
	for {
		changed := gate.Changed()
		for _, q := range gate.Questions() {
			_ = gate.Answer(q.ID, state.AnswerYes)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
