package processes

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// killed is how often the default tests kill the program.
const killed = 2

// TestKilledLeavesNothing kills the program, alone and with all its processes, and has
// the next one clean up. Killed alone it takes its sandbox and the command of exec along.
func TestKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	killAndLook(t, killed)
}

// killAndLook kills so often. What a kill leaves, the next start removes; what it did
// not make itself stays, whatever it is called.
func killAndLook(t *testing.T, times int) {
	h := newHouse(t)
	base := h.path("run", "kctl-ctrl")
	theirs := h.plantTheirs(t, base)
	before := h.contents(t)
	for i := range times {
		var command *exec.Cmd
		want := 2 // with the sandbox's
		if i%2 == 0 {
			command = h.program(t, "exec", "--sandbox", "--nodes=0", "--controllers=", "--", "sh", "-c", "echo ready; exec sleep 1000")
			beginning(t, command, "ready")
			want = 3 // with the command, which does not go on without its guard
		} else {
			command = h.program(t, "run", "--sandbox", "--nodes=1", "--controllers=deployment,replicaset")
			beginning(t, command, "2 controllers run")
		}
		all := family(t, command.Process.Pid)
		if len(all) < want {
			t.Fatalf("it has %d processes, want %d", len(all), want)
		}
		if i%3 != 0 { // nobody is left to clean up
			for _, pid := range all[1:] {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
		}
		for _, pid := range all {
			if i%3 != 0 || pid == all[0] {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = command.Wait()
		programtest.Await(t, "all its processes are gone", func() bool { return !slices.ContainsFunc(all, programtest.Running) && !held(t, base) })
		left := h.added(t, before)
		t.Logf("kill %d left %d files", i+1, len(left))
		// The sandbox's process was there to see the end of the program alone. What
		// else that had, its socket and exec's kubeconfig, is the next one's to remove.
		if i%3 == 0 && slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(name, "run/kctl-ctrl/run-") }) {
			t.Errorf("kill %d, of the program alone, left %q", i+1, left)
		}
	}
	command := h.program(t, "run", "--sandbox", "--nodes=0", "--controllers=deployment")
	beginning(t, command, "1 controller runs: deployment")()
	if left := h.added(t, before); len(left) > 0 {
		t.Errorf("the next start and end left %q", left)
	}
	for path, content := range theirs {
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%s, which is not ours, is %q (%v)", path, got, err)
		}
	}
}

// plantTheirs makes files where this program keeps its own and calls them so.
func (h house) plantTheirs(t *testing.T, base string) map[string]string {
	t.Helper()
	theirs := map[string]string{}
	write := func(content string, elements ...string) {
		path := filepath.Join(elements...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		theirs[path] = content
	}
	write("a name like ours", base, "run-aaaaaaaa", "thesis.txt")
	write("another", base, "private-bbbbbbbb", "thesis.txt")
	write("a lock like ours", base, "run-cccccccc", "lock")
	write("beside it", base, "run-cccccccc", "thesis.txt")
	write("a file", base, "run-dddddddd")
	write("linked to", h.path("work", "thesis", "thesis.txt"))
	if err := os.Symlink(h.path("work", "thesis"), filepath.Join(base, "run-eeeeeeee")); err != nil {
		t.Fatal(err)
	}
	write("in tmp", h.path("tmp", "run-ffffffff", "thesis.txt"))
	return theirs
}

// added lists what is there and was not before, but for the log, the lock of the
// directory and the directory of sockets.
func (h house) added(t *testing.T, before map[string]fs.FileMode) []string {
	t.Helper()
	var out []string
	for name, mode := range h.contents(t) {
		_, was := before[name]
		kept := strings.HasPrefix(name, "home/") || name == "run/kctl-ctrl/.lock" || mode.IsDir() && filepath.Base(name) == "attach"
		if !was && !kept {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// held reports whether a process holds the lock of a directory below base: one is
// listed as dead while its last threads still have its files.
func held(t *testing.T, base string) bool {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(base, "*", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(locks, func(path string) bool {
		file, err := os.Open(path)
		if err != nil {
			return false
		}
		defer file.Close()
		return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
	})
}
