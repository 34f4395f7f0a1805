// Package controllerflags has the flags of controllers, which are kube-controller-manager's,
// of their election, and their completions. It links all controllers.
package controllerflags

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
)

// AddImpersonate registers the flag that has the loops act as their accounts.
func AddImpersonate(flags *pflag.FlagSet, into *bool) {
	flags.BoolVar(into, "impersonate-controllers", false, "each loop acts as its account in kube-system, as far as you may impersonate that; lists, watches and what the guard reads stay yours")
}

// inHelp are the flags of the loops that a command's help shows; the
// topic loop-flags has all of them. Their usage texts are ours: upstream's list
// every controller and every feature gate.
var inHelp = map[string]string{
	"controllers":    "loops to run: '*' is all that are on by default, NAME or -NAME adds or removes one; 'get controllers' lists them",
	"feature-gates":  "feature gates of the loops and the sandbox: `NAME=true|false`,...",
	"kube-api-qps":   "requests per second of each loop",
	"kube-api-burst": "burst of requests of each loop",
}

// Add registers the loops' flags. Where upstream's defaults
// cannot be read, the command says so when it is run.
func Add(cmd *cobra.Command, into **controllers.Options) {
	options, err := controllers.NewOptions()
	if err != nil {
		cmd.PreRunE = func(*cobra.Command, []string) error { return err }
		return
	}
	loops := pflag.NewFlagSet("loops", pflag.ContinueOnError)
	options.AddFlags(loops)
	loops.VisitAll(func(f *pflag.Flag) {
		usage, shown := inHelp[f.Name]
		if shown {
			f.Usage = usage
		}
		f.Hidden = f.Hidden || !shown
	})
	cmd.Flags().AddFlagSet(loops)
	cmd.Long += "\n\nThe loops take kube-controller-manager's flags; 'help loop-flags' lists them."
	*into = options
}

// AddUntapped registers the flag that lets controllers run which cannot be observed. It
// is called after Add, with what that has made.
func AddUntapped(cmd *cobra.Command, options *controllers.Options) {
	if options == nil {
		return
	}
	options.AddUntappedFlag(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("untapped", cobra.FixedCompletions([]string{"refuse", "allow"}, cobra.ShellCompDirectiveNoFileComp))
}

// NewTopic is the help topic with every flag of the loops.
func NewTopic() *cobra.Command {
	topic := &cobra.Command{Use: "loop-flags", Short: "The flags of the loops, which are kube-controller-manager's"}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		options, err := controllers.NewOptions()
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "error:", err)
			return
		}
		loops := pflag.NewFlagSet("loops", pflag.ContinueOnError)
		options.AddFlags(loops)
		elections := pflag.NewFlagSet("elections", pflag.ContinueOnError)
		options.AddElectionFlags(elections)
		elections.VisitAll(func(f *pflag.Flag) { f.Hidden = false })
		fmt.Fprintf(cmd.OutOrStdout(), "%s.\n'run', 'diff' and 'sandbox' take them, with upstream's names, meaning and defaults.\n\n%s\nOf the election, for 'run --active' on a cluster:\n\n%s",
			topic.Short, loops.FlagUsagesWrapped(100), elections.FlagUsagesWrapped(100))
	})
	return topic
}
