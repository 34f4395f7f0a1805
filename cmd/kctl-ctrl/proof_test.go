package main

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// proof is a sandbox without controllers, for programs of the user's own.
type proof struct{ *testbed.Proof }

func emptyProof(t *testing.T) *proof {
	t.Helper()
	return &proof{testbed.NewProof(t)}
}
