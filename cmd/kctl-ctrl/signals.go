package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// withSignals returns a context that the first Ctrl-C, SIGTERM or SIGHUP ends,
// with a word on stderr about what happens now. The second one exits at once:
// the sandbox's child then cleans up after itself, for it sees its parent go.
func withSignals(parent context.Context, stderr io.Writer, stopping string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		fmt.Fprintln(stderr, stopping)
		cancel(errInterrupted)
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(context.Canceled)
	}
}
