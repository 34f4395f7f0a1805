package cliflags

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// NoEffect is a mode of a command in which flags do nothing. Who sets one there means
// something else than what would happen.
type NoEffect struct {
	// In: the command line asks for the mode.
	In    bool
	Flags []string
	// Why follows "--FLAG has no effect ", and says what to do.
	Why string
}

// RefuseNoEffect is an error for the first flag that was set and does nothing.
func RefuseNoEffect(set *pflag.FlagSet, modes ...NoEffect) error {
	for _, mode := range modes {
		if !mode.In || set == nil {
			continue
		}
		for _, name := range mode.Flags {
			if set.Lookup(name) != nil && set.Changed(name) {
				return fmt.Errorf("--%s has no effect %s", name, mode.Why)
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

// ClusterNames are the flags that say which cluster is meant, and as whom; not which
// namespace.
func ClusterNames() []string {
	return namesOf(func(flags *pflag.FlagSet) { AddCluster(genericclioptions.NewConfigFlags(true), flags) }, "namespace")
}

// FlagsBeside are all flags of a set but some.
func FlagsBeside(set *pflag.FlagSet, kept ...string) []string {
	return namesOf(func(flags *pflag.FlagSet) { flags.AddFlagSet(set) }, append(kept, "help")...)
}
