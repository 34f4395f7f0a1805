package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// auditFile is a new file for the audit log of a sandbox, which takes it over.
//
//lint:ignore U1000 for the tests with the tags twins and scenarios
func auditFile(t testing.TB) *os.File {
	t.Helper()
	file, err := openOwn(filepath.Join(t.TempDir(), "audit.log"), false)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Files that a user names are not followed to elsewhere, and kept unless they are to be
// replaced.
func TestOpenOwn(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"old": "text", "target": "text"} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "target", "nowhere": "none", "null": os.DevNull} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		replace bool
		want    string
	}{
		{"old", false, "the file exists: --force replaces it"},
		{"link", false, "a symbolic link"}, {"link", true, "a symbolic link"}, {"nowhere", true, "a symbolic link"},
		{"old", true, ""}, {"new", false, ""}, {"null", false, ""},
	} {
		file, err := openOwn(at(c.name), c.replace)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, replace %v: %v, want %q", c.name, c.replace, err, c.want)
		}
		if err != nil {
			continue
		}
		if info, err := file.Stat(); err != nil || info.Mode().IsRegular() && (info.Mode().Perm() != 0o600 || info.Size() != 0) {
			t.Errorf("%s: %v, %v", c.name, info, err)
		}
		_ = file.Close()
	}
	if text, err := os.ReadFile(at("target")); err != nil || string(text) != "text" {
		t.Errorf("what a link leads to is %q, %v", text, err)
	}
}

// The file for the journal ends with the last entry that fits, and the rest is counted.
func TestBoundedFile(t *testing.T) {
	file, err := openOwn(filepath.Join(t.TempDir(), "journal"), false)
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
	_, signals := passSignals(t.Context(), io.Discard, syscall.SIGUSR2)
	defer signals.stop()
	c := &userCommand{args: []string{"sh", "-c", "printf 1234; printf 567890abc >&2; printf more"}, apart: true}
	c.sendOutput(file, path)
	if err := c.run(t.Context(), signals, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.close()
	var said strings.Builder
	o.printed.report(&said)
	if text, err := os.ReadFile(path); err != nil || string(text) != "1234567890" || said.String() != "warning: 7 bytes of what the command printed are not in "+path+": it reached --max-size\n" {
		t.Errorf("it has %q, %v, and says %q", text, err, said.String())
	}
}
