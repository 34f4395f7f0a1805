package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
)

// manifestFlags name the manifests to read, as kubectl does.
type manifestFlags struct {
	files     []string
	kustomize []string
	recursive bool
}

func (m *manifestFlags) addTo(flags *pflag.FlagSet, purpose string) {
	flags.StringSliceVarP(&m.files, "filename", "f", nil, purpose+": files, directories, or - for standard input")
	flags.StringSliceVarP(&m.kustomize, "kustomize", "k", nil, purpose+": directories with a kustomization")
	flags.BoolVarP(&m.recursive, "recursive", "R", false, "descend into the directories given with -f")
}

func (m *manifestFlags) given() bool { return len(m.files)+len(m.kustomize) > 0 }

func (m *manifestFlags) load(stdin io.Reader) ([]plan.Object, error) {
	return plan.Load(plan.Sources{Files: m.files, Kustomize: m.kustomize, Recursive: m.recursive, Stdin: stdin})
}

// logFlags say where upstream's log goes. It never goes to the screen.
type logFlags struct {
	file      string
	verbosity int
}

func (l *logFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&l.file, "log-file", "", "write the log of the embedded components to this file (default kctl-ctrl.log in the state directory)")
	flags.IntVar(&l.verbosity, "log-level", 0, "verbosity of that log, as of kube-controller-manager's -v, 7 at most")
}

// addImpersonate registers the flag that has the loops act as their accounts.
func addImpersonate(flags *pflag.FlagSet, into *bool) {
	flags.BoolVar(into, "impersonate-controllers", false, "each loop acts as its account in kube-system, as far as you may impersonate that; lists, watches and what the guard reads stay yours")
}

// loopFlagsInHelp are the flags of the loops that a command's help shows; the
// topic loop-flags has all of them. Their usage texts are ours: upstream's list
// every controller and every feature gate.
var loopFlagsInHelp = map[string]string{
	"controllers":    "loops to run: '*' is all that are on by default, NAME or -NAME adds or removes one; 'get controllers' lists them",
	"feature-gates":  "feature gates of the loops and the sandbox: `NAME=true|false`,...",
	"kube-api-qps":   "requests per second of each loop",
	"kube-api-burst": "burst of requests of each loop",
}

// addControllerFlags registers the loops' flags. Where upstream's defaults
// cannot be read, the command says so when it is run.
func addControllerFlags(cmd *cobra.Command, into **controllers.Options) {
	options, err := controllers.NewOptions()
	if err != nil {
		cmd.PreRunE = func(*cobra.Command, []string) error { return err }
		return
	}
	loops := pflag.NewFlagSet("loops", pflag.ContinueOnError)
	options.AddFlags(loops)
	loops.VisitAll(func(f *pflag.Flag) {
		usage, shown := loopFlagsInHelp[f.Name]
		if shown {
			f.Usage = usage
		}
		f.Hidden = f.Hidden || !shown
	})
	cmd.Flags().AddFlagSet(loops)
	cmd.Long += "\n\nThe loops take kube-controller-manager's flags; 'help loop-flags' lists them."
	*into = options
}

// newLoopFlagsTopic is the help topic with every flag of the loops.
func newLoopFlagsTopic() *cobra.Command {
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

// useColor decides about colours on w: NO_COLOR set and not empty and
// TERM=dumb switch them off, and so does everything that is not a terminal.
func useColor(choice string, w io.Writer) (bool, error) {
	switch choice {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w), nil
	default:
		return false, fmt.Errorf("unknown --color %q: use auto, always or never", choice)
	}
}
