package main

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/supervise"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/controlplane"
)

// TestMain makes the test binary the program: tests start it as one, and its sandboxes
// execute it as their control plane. kubectl comes from the library it is built from, so
// that nothing has to be installed. The scripts are in the packages below scripts.
func TestMain(m *testing.M) {
	controlplane.RunChild()
	program := func() {
		child := supervise.Begin()
		panicOnSignal(child)
		child.Exit(failOnStall(execute(child.Context(context.Background()), os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})))
	}
	if os.Getenv(asOperator) != "" {
		os.Exit(operator(context.Background()))
	}
	if os.Getenv(asProgram) != "" {
		program()
	}
	testscript.Main(suite{m}, map[string]func(){
		"kctl-ctrl": program,
		"kubectl": func() {
			if err := kubectl.NewDefaultKubectlCommand().Execute(); err != nil {
				os.Exit(1)
			}
		},
	})
}

// suite prepares what tests share, when it is tests that this process is for.
type suite struct{ *testing.M }

func (s suite) Run() int {
	defer testbed.Prepare()()
	return s.M.Run()
}
