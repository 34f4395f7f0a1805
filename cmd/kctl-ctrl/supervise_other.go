//go:build !unix

package main

import "k8s.io/cli-runtime/pkg/genericiooptions"

func closeOnExec(int) {}

// supervise does nothing: descriptors are not handed to children here.
func supervise(genericiooptions.IOStreams) (err error, done bool) { return nil, false }
