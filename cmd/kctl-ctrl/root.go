package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/cascade"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/diff"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/info"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/policy"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/rbac"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/replay"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/revisions"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/run"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/tree"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/tui"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/version"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/why"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
)

// commands are all that the program has.
var commands = []func(genericiooptions.IOStreams) *cobra.Command{
	tui.New,
	run.New,
	run.NewRecord,
	replay.New,
	diff.New,
	sandbox.New,
	exec.New,
	newGetCommand,
	revisions.New,
	tree.New,
	cascade.New,
	why.New,
	newCacheCommand,
	rbac.New,
	policy.New,
	info.New,
	version.New,
}

// newRoot builds the command tree. invoked is argv[0]: called as kubectl-ctrl,
// by kubectl, the help says "kubectl ctrl".
func newRoot(invoked string, streams genericiooptions.IOStreams) *cobra.Command {
	name := displayName(invoked)
	screen := tui.NewOptions(streams)
	// Packages of upstream put a --version of their own on the flag set of the
	// process, which cobra would offer on every command.
	pflag.CommandLine = pflag.NewFlagSet(name, pflag.ContinueOnError)
	root := &cobra.Command{
		Use:   "kctl-ctrl",
		Short: "See Kubernetes controllers from inside",
		Long: `kctl-ctrl runs the real control loops of kube-controller-manager inside this
program and shows what they see and do: which event put a key in which queue,
what one sync wrote, what is retried and when.

Without a command it is the screen, see 'tui'. Nothing is written to a cluster
unless you ask for it: what loops beside your cluster would write is answered
inside this program (dry-run=client). With --sandbox they run for real, on a
control plane that lives and dies with the command.`,
		Version:           about.Version().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Args:              cliflags.OnlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return screen.Run(cmd.Context())
		},
	}
	tui.AddRootFlags(root, screen)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath())
	})
	for _, make := range commands {
		root.AddCommand(make(streams))
	}
	root.AddCommand(controllerflags.NewTopic())
	cliflags.CheckTopics(root)
	addCompletions(root)
	return root
}

// displayName is how the user calls the program.
func displayName(invoked string) string {
	base := strings.TrimSuffix(filepath.Base(invoked), ".exe")
	if plugin, ok := strings.CutPrefix(base, "kubectl-"); ok {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	}
	return "kctl-ctrl"
}
