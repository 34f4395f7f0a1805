package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestElectedAsks leads on a cluster with a policy that allows nothing: holding the
// lease is no leave to write, says the API server's record.
func TestElectedAsks(t *testing.T) {
	for _, broken := range []bool{false, true} {
		t.Run(fmt.Sprintf("broken=%v", broken), func(t *testing.T) {
			testbed.WithControllers(t)
			c := newContested(t)
			c.keepBusy(t, "web-1")
			w := c.way(t, "a")
			o := &engineflags.Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Kubeconfig: genericclioptions.NewConfigFlags(true)}
			cmd := &cobra.Command{}
			o.AddTo(cmd)
			args := append([]string{"--active", "--confirm=" + contestedContext, "--controllers=deployment", "--kubeconfig=" + w.kubeconfig}, electionArgs()...)
			if err := cmd.ParseFlags(args); err != nil {
				t.Fatal(err)
			}
			policy := &approve.Policy{}
			if broken {
				policy = allowEverything(t)
			}
			spec, err := o.Spec(state.ModeActive, engine.Approvals{Policy: policy})
			if err != nil {
				t.Fatal(err)
			}
			s, err := testEngine(t, spec)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { engineflags.ShutDown(s, os.Stderr) })
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if broken {
				awaitWrites(t, s, state.WriteDone, 1)
			} else {
				awaitWrites(t, s, state.WriteRefused, 5)
			}
			if v := rule(c.requests(t), shortDeadline); len(v.terms) == 0 || (v.writes["a"] > 0) != broken {
				t.Errorf("terms: %q, writes: %d", v.terms, v.writes["a"])
			}
		})
	}
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
`), engineflags.ResolveWriter)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}
