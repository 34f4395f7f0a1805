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
