package cliflags

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
)

// Manifests name the manifests to read, as kubectl does.
type Manifests struct {
	Files     []string
	kustomize []string
	Recursive bool
}

// AddTo registers the flags; purpose says what becomes of the manifests.
func (m *Manifests) AddTo(flags *pflag.FlagSet, purpose string) {
	flags.StringSliceVarP(&m.Files, "filename", "f", nil, purpose+": files, directories, or - for standard input")
	flags.StringSliceVarP(&m.kustomize, "kustomize", "k", nil, purpose+": directories with a kustomization")
	flags.BoolVarP(&m.Recursive, "recursive", "R", false, "descend into the directories given with -f")
}

// Given reports whether manifests were named.
func (m *Manifests) Given() bool { return len(m.Files)+len(m.kustomize) > 0 }

// Load reads them.
func (m *Manifests) Load(stdin io.Reader) ([]plan.Object, error) {
	return plan.Load(plan.Sources{Files: m.Files, Kustomize: m.kustomize, Recursive: m.Recursive, Stdin: stdin})
}

// Logs say where upstream's log goes. It never goes to the screen.
type Logs struct {
	File      string
	Verbosity int
}

// AddTo registers the flags.
func (l *Logs) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&l.File, "log-file", "", "write the log of the embedded components to this file (default kctl-ctrl.log in the state directory)")
	flags.IntVar(&l.Verbosity, "log-level", 0, "verbosity of that log, as of kube-controller-manager's -v, 7 at most")
}

// NoDirectories is --recursive where no directory is named, with -f or as one of others.
func (m *Manifests) NoDirectories(others ...string) NoEffect {
	return NoEffect{len(m.Files)+len(others) == 0, []string{"recursive"}, "without -f: name a directory with it"}
}
