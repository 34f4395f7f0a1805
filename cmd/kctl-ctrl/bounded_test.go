package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
)

// What a command prints is cut at the bound, and counted.
func TestBoundedOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	o := &exec.Options{OutputFile: path, Recording: engineflags.Recording{Bytes: 10}}
	file, err := o.OpenOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &exec.UserCommand{Command: child.Command{Args: []string{"sh", "-c", "printf 1234; printf 567890abc >&2; printf more"}, Apart: true}}
	c.SendOutput(file, path)
	if err := c.Run(t.Context(), &child.Signals{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.Close()
	var said strings.Builder
	o.Printed.Report(&said)
	if text, err := os.ReadFile(path); err != nil || string(text) != "1234567890" || said.String() != "warning: 7 bytes of what the command printed are not in "+path+": it reached --max-size\n" {
		t.Errorf("it has %q, %v, and says %q", text, err, said.String())
	}
}
