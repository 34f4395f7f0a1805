package processes

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// house is all places in which this program keeps files for a user, below one
// directory, which is short: sockets have short paths.
type house struct{ root string }

func newHouse(t *testing.T) house {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "kc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	h := house{root}
	for _, dir := range []string{"home", "run", "tmp", "work"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h house) path(elements ...string) string {
	return filepath.Join(append([]string{h.root}, elements...)...)
}

// program is one of a user who lives here.
func (h house) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := programtest.Program(t, args...)
	command.Dir = h.path("work")
	command.Env = append(command.Env, h.env()...)
	return command
}

func (h house) env() []string {
	return []string{
		"HOME=" + h.path("home"), "XDG_RUNTIME_DIR=" + h.path("run"), "TMPDIR=" + h.path("tmp"),
		"XDG_STATE_HOME=" + h.path("home", "state"), "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "KCTL_CTRL_ATTACH_DIR=",
	}
}

// contents lists what is there, but for the directories that the house is made of.
func (h house) contents(t *testing.T) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	err := filepath.WalkDir(h.root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if name, _ := filepath.Rel(h.root, path); strings.Contains(name, "/") {
			all[name] = info.Mode()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkPrivate reports what others may read, write or enter, and how much there is.
func (h house) checkPrivate(t *testing.T, when string) {
	t.Helper()
	files, dirs, sockets := 0, 0, 0
	for name, mode := range h.contents(t) {
		switch {
		case mode.IsDir():
			dirs++
		case mode.Type() == fs.ModeSocket:
			sockets++
		default:
			files++
		}
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[mode.IsDir()]; mode.Type() != fs.ModeSymlink && mode.Perm() != want &&
			(mode.Type() != fs.ModeSocket || mode.Perm()&0o077 != 0) {
			t.Errorf("%s: %s has mode %v, want %v", when, name, mode, want)
		}
	}
	t.Logf("%s: %d files, %d directories, %d sockets", when, files, dirs, sockets)
	if files == 0 || dirs == 0 {
		t.Errorf("%s: nothing was looked at", when)
	}
}

// underUmask has a command start with an umask.
func underUmask(command *exec.Cmd, umask string) {
	command.Args = append([]string{"sh", "-c", "umask " + umask + ` && exec "$0" "$@"`, command.Path}, command.Args[1:]...)
	command.Path = "/bin/sh"
}

// beginning starts a command and returns when it has said a text on its standard
// output; end interrupts it, waits, and is what it has said on its standard error.
func beginning(t *testing.T, command *exec.Cmd, text string) (end func() (said string)) {
	t.Helper()
	lines, stdout, stderr := programtest.Started(t, command)
	programtest.Until(t, lines, text)
	return func() string {
		t.Helper()
		_ = command.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, stdout)
		_ = command.Wait()
		for line := range strings.Lines(stderr.String()) {
			if strings.HasPrefix(line, "warning") {
				t.Errorf("%q: %s", command.Args, line)
			}
		}
		return stderr.String()
	}
}
