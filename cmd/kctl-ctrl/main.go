// Command kctl-ctrl shows Kubernetes controllers from inside: it runs the real controllers of
// kube-controller-manager, dry on a cluster or for real on an embedded control plane, and
// shows what they see and do.
//
// Called as kubectl-ctrl it is a kubectl plugin, and as kubectl_complete-ctrl the
// completion of that plugin.
package main

import (
	"context"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/supervise"
	_ "github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/untranslated"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/controlplane"
)

func main() {
	controlplane.RunChild() // never returns in the sandbox's child process
	child := supervise.Begin()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	child.Exit(execute(child.Context(context.Background()), os.Args, streams))
}

// execute runs one command line and returns its exit code: when the command has ended,
// or when the user leaves one that does not end.
func execute(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	silenceKlog()
	streams.Out, streams.ErrOut = console.InertUnlessTerminal(streams.Out), console.InertUnlessTerminal(streams.ErrOut)
	root := newRoot(args[0], streams)
	root.SetArgs(commandArgs(args))
	ctx, left := console.Leavable(ctx)
	ended := make(chan int, 1)
	go func() { ended <- exit.Code(root.ExecuteContext(ctx), streams.ErrOut) }()
	select {
	case code := <-ended:
		return code
	case code := <-left:
		return code
	}
}
