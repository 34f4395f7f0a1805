package processes

import (
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// behindExec starts exec with a shell script as its command, on a cluster or in a
// sandbox, and returns when the script has said "ready".
func behindExec(t *testing.T, script string, where ...string) (command *exec.Cmd, stdout io.Reader) {
	t.Helper()
	args := slices.Concat([]string{"exec"}, where, []string{"--journal-file", filepath.Join(t.TempDir(), "journal"), "--", "sh", "-c", script})
	command = programtest.Program(t, args...)
	lines, stdout, _ := programtest.Started(t, command)
	programtest.Until(t, lines, "ready")
	return command, stdout
}

// Signals are the command's, and so is the exit code.
func TestExecPassesSignals(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 15, syscall.SIGINT: 2, syscall.SIGUSR1: 10} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			where := []string{"--kubeconfig", onShared(t)}
			command, _ := behindExec(t, `trap "exit 15" TERM; trap "exit 2" INT; trap "exit 10" USR1; echo ready; while :; do sleep 0.05; done`, where...)
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait()
			if got := command.ProcessState.ExitCode(); got != code {
				t.Errorf("exit code %d, want the script's %d", got, code)
			}
		})
	}
}
