package cliflags

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// AddCluster adds the flags by which kubectl is told which cluster it is to ask,
// and as whom.
func AddCluster(cluster *genericclioptions.ConfigFlags, flags *pflag.FlagSet) {
	cluster.AddFlags(flags)
	flags.Var(&kubercFlag{}, "kuberc", "path to the kuberc file that says which credential plugins may run, as for kubectl; its defaults and aliases are kubectl's own")
}

// kubercFlag is kubectl's --kuberc. Its value goes into KUBERC, where package connect
// looks for it, and kubectl too where this program runs a command.
type kubercFlag struct{ path string }

var _ pflag.Value = &kubercFlag{}

// Set implements pflag.Value. The path is made absolute: "off" is a file here, and no
// policy at all in KUBERC.
func (k *kubercFlag) Set(path string) error {
	if path == "" {
		return errors.New("want the path of a file")
	}
	if os.Getenv("KUBERC") == "off" {
		return errors.New("KUBERC=off and --kuberc exclude each other: leave one out")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	k.path = path
	return os.Setenv("KUBERC", path)
}

// String implements pflag.Value.
func (k *kubercFlag) String() string { return k.path }

// Type implements pflag.Value.
func (k *kubercFlag) Type() string { return "string" }
