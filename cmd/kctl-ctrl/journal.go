package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// journalFlags say how the journal is printed.
type journalFlags struct {
	output  string
	color   string
	verbose bool
	diffs   bool
}

func (j *journalFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVarP(&j.output, "output", "o", "text", "text: readable lines; json: the journal as JSON lines, complete")
	flags.StringVar(&j.color, "color", "auto", "auto, always or never")
	flags.BoolVarP(&j.verbose, "verbose", "v", false, "print every entry of the journal, not only what changed something")
	flags.BoolVar(&j.diffs, "show-diffs", false, "print below each write the fields it changes")
}

// described are its flags, to see which were set.
func (j *journalFlags) described() *pflag.FlagSet {
	flags := pflag.NewFlagSet("journal", pflag.ContinueOnError)
	(&journalFlags{}).addTo(flags)
	return flags
}

func (j *journalFlags) check() error {
	if err := printing.CheckFormat(j.output, "text", "json"); err != nil {
		return err
	}
	_, err := console.Color(j.color, io.Discard)
	return err
}

// printer streams a session's journal to standard output from the moment it is
// made until the hub closes.
type printer struct {
	flags   *journalFlags
	streams genericiooptions.IOStreams
	color   bool
	still   *stillness
	done    chan struct{}
	err     error
	// end ends the session where nobody reads the journal any more.
	end context.CancelCauseFunc
}

// printer starts printing. wait must be called after the session has stopped.
func (j *journalFlags) printer(streams genericiooptions.IOStreams, s *session) *printer {
	color, _ := console.Color(j.color, streams.Out) // checked before
	p := &printer{flags: j, streams: streams, color: color, still: newStillness(), done: make(chan struct{}), end: s.end}
	subscription := s.hub.Subscribe(0)
	go func() {
		defer close(p.done)
		defer p.still.end()
		p.err = p.stream(subscription)
	}()
	return p
}

func (p *printer) stream(subscription *hub.Subscription) error {
	write := p.flags.textWriter(p.streams.Out, p.color)
	if p.flags.output == "json" {
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

func (j *journalFlags) textWriter(out io.Writer, color bool) func(state.Entry) error {
	options := render.JournalOptions{Color: color, Diffs: j.diffs, Location: time.Local}
	if j.verbose {
		options.Verbosity = render.Everything
	}
	journal := render.NewJournal(options)
	return func(entry state.Entry) error { return journal.Write(out, entry) }
}

// wait returns when everything is printed.
func (p *printer) wait() { <-p.done }

// failure is what a failed write comes to: who has closed the pipe has seen enough.
func (p *printer) failure(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return exit.ErrInterrupted
	}
	return fmt.Errorf("print the journal: %w", err)
}

// summary prints what a run closes with: below the lines, or on standard error
// where standard output belongs to a program.
func (p *printer) summary(s *session) error {
	if p.err != nil {
		return p.failure(p.err)
	}
	return p.flags.summarise(p.streams, s.hub.Snapshot())
}

// summarise prints a summary below the journal.
func (j *journalFlags) summarise(streams genericiooptions.IOStreams, s *state.Snapshot) error {
	out := streams.Out
	if j.output == "json" {
		out = streams.ErrOut
	}
	if _, err := io.WriteString(out, "\n"); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	color, _ := console.Color(j.color, out)
	return render.Summarise(s).Write(out, render.SummaryOptions{Color: color, Width: console.Width(out)})
}
