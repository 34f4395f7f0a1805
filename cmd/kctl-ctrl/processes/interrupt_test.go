package processes

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// freeze stops the sandbox's process, so that nothing of a session can end in order.
func freeze(t *testing.T, pid int) {
	t.Helper()
	children := family(t, pid)[1:]
	if len(children) == 0 {
		t.Fatal("there is no sandbox")
	}
	for _, child := range children {
		if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, child := range children {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	})
}

// Ctrl-C is answered before anything is waited for: here nothing can be stopped in
// order, and the answer comes all the same, before what is said at the end.
func TestInterruptIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	command := newHouse(t).program(t, "run", "--sandbox", "--nodes=0", "--controllers=deployment")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = in, in
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	var said bytes.Buffer
	programtest.ReadUntil(t, out, &said, "1 controller runs: deployment")
	freeze(t, command.Process.Pid)
	_ = command.Process.Signal(os.Interrupt)
	_, _ = io.Copy(&said, out)
	_ = command.Wait()
	programtest.InOrder(t, said.String(), "1 controller runs: deployment", "stopping the loops", "1 controller ")
}
