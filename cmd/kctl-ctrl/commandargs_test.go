package main

import (
	"slices"
	"testing"
)

func TestCommandArgs(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"kctl-ctrl", "get"}, []string{"get"}},
		{[]string{"/usr/bin/kubectl-ctrl", "get"}, []string{"get"}},
		{[]string{"/usr/bin/kubectl_complete-ctrl", "get", ""}, []string{"__complete", "get", ""}},
		{[]string{"kubectl_complete-ctrl.exe"}, []string{"__complete"}},
	} {
		if got := commandArgs(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
