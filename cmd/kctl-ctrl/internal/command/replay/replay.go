// Package replay is the command that prints a recording as run printed its session.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/journal"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/recorded"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	journal journal.Flags
	flags   *pflag.FlagSet
	speed   float64
	summary bool
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{IOStreams: streams}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Print a recording as run printed its session",
		Long: `Print the journal of a recording, and its summary, as 'run' does of a session.
It needs no cluster. FILE is what 'record' or 'run --record' wrote, or - for
standard input; 'run -o json' prints the same format.

It is printed as fast as possible, or with --speed as it happened: --speed=1 takes
as long as it took, --speed=10 a tenth of that.

A recording whose program was killed is played as far as it goes, with a warning.
One that is damaged is too, and the exit code is 2.`,
		Example: `  kctl-ctrl replay shop.jsonl.zst --show-diffs

  # What went wrong?
  kctl-ctrl replay shop.jsonl.zst -o json | jq 'select(.event.failed)'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.Run(cmd.Context(), args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"jsonl", "zst"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	o.flags = flags
	o.journal.AddTo(flags)
	flags.Float64Var(&o.speed, "speed", 0, "times as fast as it happened, 0.1 to 100; 0 is as fast as possible")
	flags.BoolVar(&o.summary, "summary", false, "print the summary only")
	return cmd
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context, path string) error {
	if err := o.journal.Check(); err != nil {
		return err
	}
	switch {
	case o.speed != 0 && !(o.speed >= recording.MinSpeed && o.speed <= recording.MaxSpeed):
		return fmt.Errorf("--speed %g: want %g to %g, or 0", o.speed, recording.MinSpeed, recording.MaxSpeed)
	case o.summary && o.journal.Output == "json":
		return errors.New("--summary is for people: it has no -o json")
	}
	if err := cliflags.RefuseNoEffect(o.flags, cliflags.NoEffect{In: o.summary, Flags: []string{"verbose", "show-diffs", "speed"}, Why: "with --summary, which prints no journal: leave one of them out"}); err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()
	reader, err := openRecording(path, o.In)
	if err != nil {
		return err
	}
	defer reader.Close()
	snapshot, err := o.print(ctx, reader)
	if err != nil {
		return explain.Cause(ctx, err)
	}
	if err := o.journal.Summarise(o.IOStreams, snapshot); err != nil {
		return err
	}
	return recorded.Verdict(reader, path, o.ErrOut)
}

// print prints the entries, and gives the state that they lead to.
func (o *Options) print(ctx context.Context, reader *recording.Reader) (*state.Snapshot, error) {
	color, _ := console.Color(o.journal.Color, o.Out)
	write := o.journal.TextWriter(o.Out, color)
	switch {
	case o.summary:
		write = func(state.Entry) error { return nil }
	case o.journal.Output == "json":
		encoder := state.NewEncoder(o.Out, reader.Header())
		if err := encoder.Begin(); err != nil {
			return nil, err
		}
		write = encoder.Encode
	}
	snapshot := state.NewSnapshot(state.Limits{})
	var batch []state.Entry
	var begun, first time.Time
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return state.Fold(snapshot, batch...), nil
		}
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.speed > 0 && !entry.At.IsZero() {
			if first.IsZero() {
				begun, first = time.Now(), entry.At
			}
			due := begun.Add(time.Duration(float64(entry.At.Sub(first)) / o.speed))
			if err := console.Sleep(ctx, time.Until(due)); err != nil {
				return nil, err
			}
		}
		if err := write(entry); err != nil {
			return nil, fmt.Errorf("print the journal: %w", err)
		}
		if batch = append(batch, entry); len(batch) >= 1024 {
			snapshot, batch = state.Fold(snapshot, batch...), batch[:0]
		}
	}
}

// openRecording opens a file, or takes standard input for "-".
func openRecording(path string, in io.Reader) (*recording.Reader, error) {
	if path == "-" {
		return recording.NewReader(in, recording.Bounds{})
	}
	return recording.Open(path, recording.Bounds{})
}
