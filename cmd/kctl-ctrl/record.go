package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
)

// checkRecordFile refuses the name of an output format: -o is one in other commands.
func checkRecordFile(name string) error {
	if name != "text" && !slices.Contains(printing.New("text").Formats(), name) {
		return nil
	}
	return fmt.Errorf("-o %s: -o names the file to record to, and this is an output format: record to %s.jsonl, or to ./%s if that is the file; 'run -o json' prints the journal", name, name, name)
}

func newRecordCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &runCommand{runOptions: runOptions{IOStreams: streams, kubeconfig: genericclioptions.NewConfigFlags(true)}, quiet: true}
	cmd := &cobra.Command{
		Use:   "record -o FILE",
		Short: "Run the loops and record what they do to a file",
		Long: `Run the control loops as 'run' does and write their journal to a file instead of
the screen, until Ctrl-C or as long as --for or --until-settled say. 'run
--record' does both. With --active the loops write for real as with 'run': the
mode, the election and all warnings are then printed on standard error.

The file is JSON lines, one fact each, compressed with zstd unless its name ends
in .jsonl. It holds the names, times, causes and changed fields of everything
that was seen, and no value of a Secret. Only you can read it. It is readable at
any time, also after the program was killed: up to about a second before.

'replay FILE' prints it as 'run' would have, and 'get queues --from FILE' and the
like answer from it.`,
		Example: `  # Ten seconds of these loops on the current context, dry
  kctl-ctrl record -o staging.jsonl.zst --controllers=deployment,replicaset --for 10s

  # What these manifests lead to
  kctl-ctrl record -o shop.jsonl.zst --sandbox -f examples/shop/ --until-settled`,
		Args: cliflags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.recording.file == "" {
				return errors.New("name the file to record to with -o")
			}
			if err := checkRecordFile(o.recording.file); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.addTo(cmd)
	o.addScheduler(cmd.Flags())
	cmd.Flags().StringVarP(&o.recording.file, "output", "o", "", "the file to record to: plain if its name ends in .jsonl, else compressed with zstd")
	o.recording.addBounds(cmd.Flags())
	_ = cmd.MarkFlagFilename("output")
	return cmd
}
