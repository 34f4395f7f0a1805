//go:build !unix

package main

import (
	"context"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func closeOnExec(int) {}

// supervise does nothing: descriptors are not handed to children here.
func supervise(context.Context, genericiooptions.IOStreams) (err error, done bool) { return nil, false }
