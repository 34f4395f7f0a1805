package main

import (
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

func TestRBACCommand(t *testing.T) {
	o := &engineflags.Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{}
	o.AddTo(cmd)
	if err := cmd.ParseFlags([]string{"--impersonate-controllers", "--leader-elect-resource-name=mine", "--leader-elect-retry-period=3s", "-n", "shop"}); err != nil {
		t.Fatal(err)
	}
	want := "rbac --mode=active --controllers=… --impersonate-controllers --leader-elect-resource-name=mine --namespace=shop"
	if got := o.RBACCommand(rights.Active); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
