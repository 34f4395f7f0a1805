package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// noEffect is a mode of a command in which flags do nothing. Who sets one there means
// something else than what would happen.
type noEffect struct {
	// in: the command line asks for the mode.
	in    bool
	flags []string
	// why follows "--FLAG has no effect ", and says what to do.
	why string
}

// refuseNoEffect is an error for the first flag that was set and does nothing.
func refuseNoEffect(set *pflag.FlagSet, modes ...noEffect) error {
	for _, mode := range modes {
		if !mode.in || set == nil {
			continue
		}
		for _, name := range mode.flags {
			if set.Lookup(name) != nil && set.Changed(name) {
				return fmt.Errorf("--%s has no effect %s", name, mode.why)
			}
		}
	}
	return nil
}

// namesOf are the flags that a function registers, but for some.
func namesOf(add func(*pflag.FlagSet), except ...string) []string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(flags)
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) {
			names = append(names, f.Name)
		}
	})
	return names
}

// clusterFlags are the flags that say which cluster is meant, and as whom; not which
// namespace.
func clusterFlags() []string {
	return namesOf(func(flags *pflag.FlagSet) { addClusterFlags(genericclioptions.NewConfigFlags(true), flags) }, "namespace")
}

// flagsBeside are all flags of a set but some.
func flagsBeside(set *pflag.FlagSet, kept ...string) []string {
	return namesOf(func(flags *pflag.FlagSet) { flags.AddFlagSet(set) }, append(kept, "help")...)
}

const ownControlPlane = "with --sandbox, which starts a control plane of its own: leave one of them out"

// noNodes are the flags of simulated nodes where none is started.
func (f *sandboxFlags) noNodes(started bool) noEffect {
	return noEffect{started && f.nodes == 0, []string{"node-cpu", "node-memory", "node-pods", "pods"}, "with --nodes=0, which simulates no node: leave one of them out"}
}

// noAuditFile is --force and --max-size of a command that makes no other file.
func (f *sandboxFlags) noAuditFile() noEffect {
	return noEffect{f.auditLog == "", []string{"force", "max-size"}, "without --audit-log: add it, or leave this out"}
}

func (m *manifestFlags) noDirectories(others ...string) noEffect {
	return noEffect{len(m.files)+len(others) == 0, []string{"recursive"}, "without -f: name a directory with it"}
}

// checkEffects refuses flags of run and record that do nothing as they are called.
func (o *runOptions) checkEffects() error {
	return refuseNoEffect(o.flags,
		noEffect{o.sandboxed, clusterFlags(), ownControlPlane},
		noEffect{!o.untilSettled, []string{"horizon", "timeout"}, "without --until-settled: add it, or use --for"},
		noEffect{o.recording.file == "" && o.sandbox.auditLog == "", []string{"max-size"}, "without a file to bound: --record or --audit-log"},
		noEffect{o.recording.file == "" && o.sandbox.auditLog == "", []string{"force"}, "without a file to replace: --record or --audit-log"},
		o.manifests.noDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}

// checkEffects is runOptions.checkEffects for the TUI.
func (o *tuiOptions) checkEffects() error {
	return refuseNoEffect(o.flags,
		noEffect{o.from != "", flagsBeside(o.flags, "from", "plain", "theme", "page", "active", "sandbox", "ask", "approve-policy"), "with --from, which shows a recording: leave one of them out"},
		o.sandbox.noAuditFile(),
		noEffect{o.plain, []string{"theme"}, "with --plain, which prints no colours: leave one of them out"},
		noEffect{o.sandboxed, clusterFlags(), ownControlPlane},
		o.manifests.noDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}

// checkEffects is runOptions.checkEffects for exec.
func (o *execOptions) checkEffects() error {
	return refuseNoEffect(o.flags,
		noEffect{o.sandboxed, clusterFlags(), ownControlPlane},
		noEffect{o.recording.file == "" && o.journalFile == "" && o.outputFile == "" && o.sandbox.auditLog == "" && !o.screen, []string{"max-size"}, "without a file to bound: --record, --journal-file, --command-output or --audit-log"},
		noEffect{o.recording.file == "" && o.journalFile == "" && o.outputFile == "" && o.sandbox.auditLog == "", []string{"force"}, "without a file to replace: --record, --journal-file, --command-output or --audit-log"},
		o.manifests.noDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}

// noEffects are the flags that do nothing where nothing is started here: a recording
// answers, or a process that was named.
func (a *attachFlags) noEffects() []noEffect {
	starting := []string{"for", "controllers"}
	return []noEffect{
		{a.recording.given(), append(clusterFlags(), append(starting, "namespace")...), "with --from, which answers from a recording: leave one of them out"},
		{a.attach != "" && a.attach != attachNone, starting, "with --attach=PID, which starts no controllers here: leave one of them out"},
	}
}
