//go:build !unix

package supervise

import (
	"context"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func closeOnExec(int) {}

// Run does nothing: descriptors are not handed to children here.
func Run(context.Context, genericiooptions.IOStreams) (err error, done bool) { return nil, false }
