package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
)

// A command that is not there, or may not be run, ends as in a shell.
func TestNotStarted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"no-such-command-anywhere": 127, filepath.Join(t.TempDir(), "none"): 127, file: 126} {
		var said strings.Builder
		code := exit.Code((&child.Command{Args: []string{name}}).Run(t.Context(), &child.Signals{}, nil, nil), &said)
		if code != want || !strings.HasPrefix(said.String(), "error: run "+name+": ") {
			t.Errorf("%s: %d, %s", name, code, said.String())
		}
	}
}
