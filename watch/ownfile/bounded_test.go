package ownfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The file for the journal ends with the last entry that fits, and the rest is counted.
func TestBoundedFile(t *testing.T) {
	file, err := Create(filepath.Join(t.TempDir(), "journal"), false)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bounded{File: file, Most: 10, What: "entries", From: "the journal file"}
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
