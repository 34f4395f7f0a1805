package cliflags

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// OnlyCommands refuses words after a command that has subcommands and nothing
// else: a word there is a subcommand that does not exist.
func OnlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q%s\nsee '%s --help'", args[0], cmd.CommandPath(), didYouMean(cmd, args[0]), cmd.CommandPath())
}

// didYouMean names the subcommands that a wrong word may have meant.
func didYouMean(cmd *cobra.Command, word string) string {
	const typos = 2 // as many as cobra's own suggestions allow
	cmd.SuggestionsMinimumDistance = typos
	found := cmd.SuggestionsFor(word)
	if len(found) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(found, " or ") + "?)"
}

// NoArguments refuses words after a command that takes flags only. The usual
// ones are files.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().Lookup("filename") != nil {
		return fmt.Errorf("unexpected argument %q: manifests are named with -f\nsee '%s --help'", args[0], cmd.CommandPath())
	}
	return fmt.Errorf("unexpected argument %q\nsee '%s --help'", args[0], cmd.CommandPath())
}

// CheckTopics has cobra's own commands, help and completion, take a wrong word
// for an error, as all others do.
func CheckTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				topic, rest, err := root.Find(args)
				if err != nil || !topic.HasSubCommands() {
					return err
				}
				return OnlyCommands(topic, rest)
			}
		case "completion":
			cmd.Args = OnlyCommands
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
