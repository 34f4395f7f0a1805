// Package policy is the command that checks a policy for --approve-policy.
package policy

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check a policy for --approve-policy, and print its schema",
		Long: `An ApprovePolicy says which writes may leave without a question, and how many, for
'run --approve-policy FILE' and 'exec --approve-policy FILE'. See docs/policy.md.`,
		Args: cliflags.OnlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	ofCommand := false
	validate := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check policies, with the line of whatever is wrong; - is standard input",
		Example: `  # Is this what run would take?
  kctl-ctrl policy validate policy.yaml

  # And this what exec would take, where controllers are clients?
  kctl-ctrl policy validate --exec operator.yaml`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("name the policies to check, or - for standard input")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, files []string) error {
			names := engineflags.ResolveWriter
			if ofCommand {
				names = engineflags.ClientName
			}
			for _, file := range files {
				read := func() (*approve.Policy, error) { return engineflags.ReadPolicy(file, names) }
				if file == "-" {
					read = func() (*approve.Policy, error) {
						return engineflags.ReadPolicyFrom("standard input", streams.In, names)
					}
				}
				policy, err := read()
				if err != nil {
					return err
				}
				fmt.Fprintln(streams.Out, render.Sanitise(file+": "+describePolicy(policy)))
			}
			return nil
		},
	}
	validate.Flags().BoolVar(&ofCommand, "exec", false, "for exec: controllers are the first words of user agents, and not loops")
	cmd.AddCommand(validate, &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of a policy, for editors",
		Args:  cliflags.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := streams.Out.Write(approve.Schema())
			return err
		},
	})
	return cmd
}

// describePolicy says what a policy comes to.
func describePolicy(p *approve.Policy) string {
	text := fmt.Sprintf("valid, %d rules", len(p.Allow))
	if len(p.Allow) == 1 {
		text = "valid, 1 rule"
	}
	writes, deletes := p.Limits.WritesPerMinute, p.Limits.DeletesInTotal
	if writes != nil {
		text += ", at most " + approve.Count(*writes, "write") + " per minute"
	}
	if deletes != nil {
		text += ", at most " + approve.Count(*deletes, "delete") + " in total"
	}
	if writes == nil && deletes == nil {
		text += ", no limits"
	}
	return text
}
