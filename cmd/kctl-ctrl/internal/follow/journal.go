// Package follow shows an engine while it runs: its journal as lines (Print), what must not
// go unsaid where no journal is printed (Announce), the questions about its writes (Ask),
// and what a wait for its controllers is still for (ReportWaits).
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/journal"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Printer streams a session's journal to standard output from the moment it is
// made until the hub closes.
type Printer struct {
	flags   *journal.Flags
	streams genericiooptions.IOStreams
	color   bool
	still   *stillness
	done    chan struct{}
	err     error
	// end ends the session where nobody reads the journal any more.
	end context.CancelCauseFunc
}

// Print starts printing; end, if set, is called where nobody reads the journal any
// more. wait must be called after the session has stopped.
func Print(j *journal.Flags, streams genericiooptions.IOStreams, e *engine.Engine, end context.CancelCauseFunc) *Printer {
	color, _ := console.Color(j.Color, streams.Out) // checked before
	p := &Printer{flags: j, streams: streams, color: color, still: newStillness(), done: make(chan struct{}), end: end}
	subscription := e.Journal().Subscribe(0)
	go func() {
		defer close(p.done)
		defer p.still.end()
		p.err = p.stream(subscription)
	}()
	return p
}

func (p *Printer) stream(subscription *hub.Subscription) error {
	write := p.flags.TextWriter(p.streams.Out, p.color)
	if p.flags.Output == "json" {
		info := about.Version()
		encoder := state.NewEncoder(p.streams.Out, state.Header{Version: info.Version, Started: time.Now()})
		write = encoder.Encode
	}
	var failed error
	for {
		entries, err := subscription.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return failed
		}
		if err != nil {
			return err
		}
		// After a failed write (a closed pipe) the stream is drained all the
		// same, so that the session can end in order.
		for _, entry := range entries {
			p.still.before()
			if failed == nil {
				if failed = write(entry); failed != nil && p.end != nil {
					p.end(p.failure(failed))
				}
			}
			p.still.after(entry.Seq)
		}
	}
}

// Wait returns when everything is printed.
func (p *Printer) Wait() { <-p.done }

// failure is what a failed write comes to: who has closed the pipe has seen enough.
func (p *Printer) failure(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return exit.ErrInterrupted
	}
	return fmt.Errorf("print the journal: %w", err)
}

// Summary prints what a run closes with: below the lines, or on standard error
// where standard output belongs to a program.
func (p *Printer) Summary(e *engine.Engine) error {
	if p.err != nil {
		return p.failure(p.err)
	}
	return p.flags.Summarise(p.streams, e.Journal().Snapshot())
}
