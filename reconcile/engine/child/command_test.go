package child

import (
	"bufio"
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// A command that does not end when it is asked to is killed, with what it has started.
func TestCommandIsKilled(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, leave := context.WithCancelCause(t.Context())
	c := &Command{Args: []string{"sh", "-c", `trap "" TERM; sh -c "echo ready; sleep 1000"; exit 0`}, Apart: true, Grace: 50 * time.Millisecond, Out: out, ErrOut: out}
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, &Signals{}, nil, nil)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(in)
	for lines.Scan() && lines.Text() != "ready" {
	}
	leave(ErrLeft)
	var exit *ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.Code != 128+int(syscall.SIGKILL) {
		t.Errorf("got %v, want that it was killed", err)
	}
	for lines.Scan() { // until the last who could write is gone
		t.Errorf("it prints %q", lines.Text())
	}
}
