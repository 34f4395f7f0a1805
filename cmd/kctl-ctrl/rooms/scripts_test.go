package rooms

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryScriptIsPlayed finds scripts of commands that lie where no package plays them.
func TestEveryScriptIsPlayed(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	played := regexp.MustCompile(`^(cmd/kctl-ctrl/scripts/[a-z]+)/testdata/[a-z]+/[a-z_]+\.txtar$`)
	scripts := 0
	err := filepath.WalkDir(filepath.Join(root, "cmd"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		scripts++
		in := played.FindStringSubmatch(filepath.ToSlash(rel))
		if in == nil {
			t.Errorf("%s: no package plays it; scripts belong into cmd/kctl-ctrl/scripts/PACKAGE/testdata/COMMAND (docs/architecture.md, Tests)", rel)
			return nil
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(in[1]), "script_test.go")); err != nil {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if scripts < 30 {
		t.Errorf("only %d scripts were found", scripts)
	}
}

// TestTestHelpersAreForTests keeps what only tests may do out of the program.
func TestTestHelpersAreForTests(t *testing.T) {
	helpers := []string{module + "internal/recycle", module + "internal/testbed", module + "reconcile/engine/internal/twin", module + "cmd/kctl-ctrl/internal/programtest", module + "cmd/kctl-ctrl/internal/scripttest", module + "tui/internal/tuitest"}
	for _, p := range list(t) {
		if slices.Contains(helpers, p.ImportPath) {
			continue
		}
		for _, helper := range helpers {
			if slices.Contains(p.Deps, helper) {
				t.Errorf("%s imports %s, which is for tests", strings.TrimPrefix(p.ImportPath, module), strings.TrimPrefix(helper, module))
			}
		}
	}
}
