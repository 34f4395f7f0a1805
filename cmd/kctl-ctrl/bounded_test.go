package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/watch/ownfile"
)

// The file for the journal ends with the last entry that fits, and the rest is counted.
func TestBoundedFile(t *testing.T) {
	file, err := ownfile.Create(filepath.Join(t.TempDir(), "journal"), false)
	if err != nil {
		t.Fatal(err)
	}
	b := &boundedFile{file: file, most: 10, what: "entries", from: "the journal file"}
	for _, line := range []string{"1234\n", "abc\n", "too long\n", "x\n"} {
		if n, err := b.Write([]byte(line)); err != nil || n != len(line) {
			t.Errorf("%q: %d, %v", line, n, err)
		}
	}
	text, err := os.ReadFile(file.Name())
	var said strings.Builder
	b.report(&said)
	if err != nil || string(text) != "1234\nabc\n" || said.String() != "warning: 2 entries are not in the journal file: it reached --max-size\n" || b.Close() != nil {
		t.Errorf("it has %q, %v, and says %q", text, err, said.String())
	}
}

// What a command prints is cut at the bound, and counted.
func TestBoundedOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	o := &execOptions{outputFile: path, recording: recordFlags{bytes: 10}}
	file, err := o.openOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &userCommand{Command: child.Command{Args: []string{"sh", "-c", "printf 1234; printf 567890abc >&2; printf more"}, Apart: true}}
	c.sendOutput(file, path)
	if err := c.Run(t.Context(), &child.Signals{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.close()
	var said strings.Builder
	o.printed.report(&said)
	if text, err := os.ReadFile(path); err != nil || string(text) != "1234567890" || said.String() != "warning: 7 bytes of what the command printed are not in "+path+": it reached --max-size\n" {
		t.Errorf("it has %q, %v, and says %q", text, err, said.String())
	}
}
