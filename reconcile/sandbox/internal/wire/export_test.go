package wire

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A kubeconfig elsewhere goes with the run directory so long as it is as it was
// written, and nothing else does.
func TestExportedKubeconfigGoesWithTheRunDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string) error
		gone   bool
	}{
		"as written": {func(string) error { return nil }, true},
		"changed":    {func(path string) error { return os.WriteFile(path, []byte("another"), 0o600) }, false},
		"a link": {func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		}, false},
		"gone": {os.Remove, true},
	} {
		dir, path := filepath.Join(t.TempDir(), "run-a"), filepath.Join(t.TempDir(), "config")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{filepath.Join(dir, LockFile): Marker, path: "written", filepath.Join(dir, ExportedFile): string(Export(path, []byte("written")))} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.change(path); err != nil {
			t.Fatal(err)
		}
		if err := RemoveRunDir(dir); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(path)
		if gone := os.IsNotExist(err); gone != c.gone {
			t.Errorf("%s: gone is %v", name, gone)
		}
	}
}
