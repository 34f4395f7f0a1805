package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are what ends a command: Ctrl-C, SIGTERM and the terminal's end.
func stopSignals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// outlivePipes has a write to a closed standard output or error fail, which would
// otherwise kill the process before it has put things in order; the caller ends that.
func outlivePipes() (end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// withSignals returns a context that the first of the signals ends (stopSignals
// where none is given), with a word on stderr about what happens now. The second
// one exits at once: the sandbox's child then cleans up after itself, for it
// sees its parent go.
func withSignals(parent context.Context, stderr io.Writer, stopping string, on ...os.Signal) (context.Context, context.CancelFunc) {
	return withSignalsSaying(parent, stderr, func() string { return stopping }, on...)
}

// withSignalsSaying is withSignals with a word that depends on what goes on when
// the signal comes.
func withSignalsSaying(parent context.Context, stderr io.Writer, stopping func() string, on ...os.Signal) (context.Context, context.CancelFunc) {
	if len(on) == 0 {
		on = stopSignals()
	}
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, on...)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		fmt.Fprintln(stderr, stopping())
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
