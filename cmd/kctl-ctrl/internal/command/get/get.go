// Package get is the command that lists what this program and a cluster have: a noun for
// each kind of thing, in the packages below.
package get

import (
	"github.com/spf13/cobra"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
)

// New makes the command with its nouns.
func New(nouns ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get",
		Short: "List what this program and a cluster have",
		Args:  cliflags.OnlyCommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(nouns...)
	return cmd
}
