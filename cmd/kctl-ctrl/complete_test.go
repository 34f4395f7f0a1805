package main

import (
	"slices"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
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

func TestContinueList(t *testing.T) {
	offered := []string{"a", "b", "c"}
	for word, want := range map[string][]string{
		"":     {"a", "b", "c"},
		"b":    {"a", "b", "c"},
		"b,":   {"b,a", "b,c"},
		"b,c,": {"b,c,a"},
	} {
		if got := continueList(word, offered); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// Each context of a list keeps every other flag of the command line.
func TestWithContext(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(true)
	*flags.Impersonate, *flags.Namespace, *flags.Timeout = "jane", "shop", "3s"
	*flags.Context = "a,b"
	got := withContext(flags, "b")
	if *got.Context != "b" || *flags.Context != "a,b" {
		t.Errorf("contexts %q and %q", *got.Context, *flags.Context)
	}
	if *got.Impersonate != "jane" || *got.Namespace != "shop" || *got.Timeout != "3s" {
		t.Errorf("as %q in %q within %q", *got.Impersonate, *got.Namespace, *got.Timeout)
	}
}
