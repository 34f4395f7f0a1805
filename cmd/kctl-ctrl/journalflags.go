package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
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

func (j *journalFlags) textWriter(out io.Writer, color bool) func(state.Entry) error {
	options := render.JournalOptions{Color: color, Diffs: j.diffs, Location: time.Local}
	if j.verbose {
		options.Verbosity = render.Everything
	}
	journal := render.NewJournal(options)
	return func(entry state.Entry) error { return journal.Write(out, entry) }
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
