package queues

import (
	"bytes"
	"context"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
)

// ask runs the command in this process; no controllers can be started.
func ask(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, words bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: console.InertUnlessTerminal(&out), ErrOut: console.InertUnlessTerminal(&words)}
	cmd := New(streams, nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return exit.Code(cmd.ExecuteContext(ctx), streams.ErrOut), out.String(), words.String()
}
