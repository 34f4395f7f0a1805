// Package version is the command that prints the version of this program.
package version

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
)

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and of the loops in it",
		Args:  cliflags.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			info := about.Version()
			if err := printing.CheckFormat(output, "json", "yaml"); err != nil {
				return err
			}
			if output != "" {
				return printing.Document(streams.Out, output, info)
			}
			fmt.Fprintf(streams.Out, "kctl-ctrl %s\nkubernetes %s\n%s %s\n", info.Version, info.Kubernetes, info.Go, info.Platform)
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml")
	return cmd
}
