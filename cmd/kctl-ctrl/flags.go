package main

import (
	"io"

	"github.com/spf13/pflag"

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

func (m *manifestFlags) noDirectories(others ...string) noEffect {
	return noEffect{len(m.files)+len(others) == 0, []string{"recursive"}, "without -f: name a directory with it"}
}
