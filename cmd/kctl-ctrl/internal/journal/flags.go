// Package journal prints a journal as 'run' does, for every command that has one: its flags,
// the writer of its lines, and the summary below them.
package journal

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

// Flags say how the journal is printed.
type Flags struct {
	Output  string
	Color   string
	verbose bool
	diffs   bool
}

// AddTo registers the flags.
func (j *Flags) AddTo(flags *pflag.FlagSet) {
	flags.StringVarP(&j.Output, "output", "o", "text", "text: readable lines; json: the journal as JSON lines, complete")
	flags.StringVar(&j.Color, "color", "auto", "auto, always or never")
	flags.BoolVarP(&j.verbose, "verbose", "v", false, "print every entry of the journal, not only what changed something")
	flags.BoolVar(&j.diffs, "show-diffs", false, "print below each write the fields it changes")
}

// Described are its flags, to see which were set.
func (j *Flags) Described() *pflag.FlagSet {
	flags := pflag.NewFlagSet("journal", pflag.ContinueOnError)
	(&Flags{}).AddTo(flags)
	return flags
}

// Check refuses values that are none.
func (j *Flags) Check() error {
	if err := printing.CheckFormat(j.Output, "text", "json"); err != nil {
		return err
	}
	_, err := console.Color(j.Color, io.Discard)
	return err
}

// TextWriter writes entries as lines.
func (j *Flags) TextWriter(out io.Writer, color bool) func(state.Entry) error {
	options := render.JournalOptions{Color: color, Diffs: j.diffs, Location: time.Local}
	if j.verbose {
		options.Verbosity = render.Everything
	}
	journal := render.NewJournal(options)
	return func(entry state.Entry) error { return journal.Write(out, entry) }
}

// Summarise prints a summary below the journal.
func (j *Flags) Summarise(streams genericiooptions.IOStreams, s *state.Snapshot) error {
	out := streams.Out
	if j.Output == "json" {
		out = streams.ErrOut
	}
	if _, err := io.WriteString(out, "\n"); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	color, _ := console.Color(j.Color, out)
	return render.Summarise(s).Write(out, render.SummaryOptions{Color: color, Width: console.Width(out)})
}
