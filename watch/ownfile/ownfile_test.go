package ownfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that a user names are not followed to elsewhere, and kept unless they are to be
// replaced.
func TestCreate(t *testing.T) {
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
		{"old", false, "file exists: --force replaces it"},
		{"link", false, "a symbolic link"}, {"link", true, "a symbolic link"}, {"nowhere", true, "a symbolic link"},
		{"old", true, ""}, {"new", false, ""}, {"null", false, ""},
	} {
		file, err := Create(at(c.name), c.replace)
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
