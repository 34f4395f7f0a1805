package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/watch/ownfile"
)

// The file for the journal ends with the last entry that fits, and the rest is counted.
func TestBoundedFile(t *testing.T) {
	file, err := ownfile.Create(filepath.Join(t.TempDir(), "journal"), false)
	if err != nil {
		t.Fatal(err)
	}
	b := &exec.BoundedFile{File: file, Most: 10, What: "entries", From: "the journal file"}
	for _, line := range []string{"1234\n", "abc\n", "too long\n", "x\n"} {
		if n, err := b.Write([]byte(line)); err != nil || n != len(line) {
			t.Errorf("%q: %d, %v", line, n, err)
		}
	}
	text, err := os.ReadFile(file.Name())
	var said strings.Builder
	b.Report(&said)
	if err != nil || string(text) != "1234\nabc\n" || said.String() != "warning: 2 entries are not in the journal file: it reached --max-size\n" || b.Close() != nil {
		t.Errorf("it has %q, %v, and says %q", text, err, said.String())
	}
}

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
