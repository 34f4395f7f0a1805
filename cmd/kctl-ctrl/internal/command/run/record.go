package run

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
)

// CheckRecordFile refuses the name of an output format: -o is one in other commands.
func CheckRecordFile(name string) error {
	if name != "text" && !slices.Contains(printing.New("text").Formats(), name) {
		return nil
	}
	return fmt.Errorf("-o %s: -o names the file to record to, and this is an output format: record to %s.jsonl, or to ./%s if that is the file; 'run -o json' prints the journal", name, name, name)
}

// NewRecord makes the command record.
func NewRecord(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{Options: engineflags.Options{IOStreams: streams, Kubeconfig: genericclioptions.NewConfigFlags(true)}, quiet: true}
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
			if o.Recording.File == "" {
				return errors.New("name the file to record to with -o")
			}
			if err := CheckRecordFile(o.Recording.File); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	o.AddTo(cmd)
	o.AddScheduler(cmd.Flags())
	cmd.Flags().StringVarP(&o.Recording.File, "output", "o", "", "the file to record to: plain if its name ends in .jsonl, else compressed with zstd")
	o.Recording.AddBounds(cmd.Flags())
	_ = cmd.MarkFlagFilename("output")
	return cmd
}
