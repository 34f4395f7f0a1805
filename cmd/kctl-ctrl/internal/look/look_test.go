package look

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
)

// fakeControllers start nothing, and say what they were asked for.
type fakeControllers struct {
	host    attach.Host
	unready []string
	during  []time.Duration
	ended   int
	err     error
}

func (f *fakeControllers) AddFlags(flags *pflag.FlagSet) { flags.String("controllers", "*", "") }

func (f *fakeControllers) Start(_ context.Context, _ genericiooptions.IOStreams, _ cliflags.Cluster, during time.Duration) (Started, error) {
	f.during = append(f.during, during)
	return Started{Host: f.host, End: func() { f.ended++ }, Missing: 2, Unsynced: f.unready}, f.err
}

type noHost struct{ attach.Host }

// open runs a command that looks once.
func open(t *testing.T, controllers Controllers, args ...string) (*Flags, attach.Host, string, error) {
	t.Helper()
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Setenv("KCTL_CTRL_ATTACH_DIR", t.TempDir())
	var words bytes.Buffer
	f := &Flags{Controllers: controllers}
	var host attach.Host
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, _ []string) error {
		if err := f.Check(); err != nil {
			return err
		}
		found, closing, err := f.Open(cmd.Context(), genericiooptions.IOStreams{ErrOut: &words}, genericclioptions.NewConfigFlags(true))
		if err == nil {
			host = found
			closing()
		}
		return err
	}}
	f.AddTo(cmd)
	f.Recording.AddTo(cmd)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return f, host, words.String(), err
}

// Without a process that runs, controllers are started for as long as the user says, and
// what is missing of them is not forgotten.
func TestControllersAreStartedForALook(t *testing.T) {
	fake := &fakeControllers{host: noHost{}, unready: []string{"pods"}}
	f, host, _, err := open(t, fake, "--for=3s")
	if err != nil || host == nil || fake.ended != 1 || len(fake.during) != 1 || fake.during[0] != 3*time.Second {
		t.Fatalf("host %v, %+v, %v", host, fake, err)
	}
	if f.Missing != 2 || f.Incomplete() == nil || !strings.Contains(f.Incomplete().Error(), "1 informer has not synced: pods") {
		t.Errorf("missing %d, %v", f.Missing, f.Incomplete())
	}
}

func TestNothingToLookInto(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		controllers Controllers
		args        []string
		want        string
	}{
		"none can be started": {nil, nil, "none can be started"},
		"the start fails":     {&fakeControllers{err: boom}, []string{"--attach=none"}, "boom"},
		"no such process":     {&fakeControllers{}, []string{"--attach=1"}, "look into kctl-ctrl process 1"},
		"no process id":       {&fakeControllers{}, []string{"--attach=x"}, "want a process id"},
		"two sources":         {&fakeControllers{}, []string{"--attach=1", "--from=x"}, "exclude each other"},
		"no recording":        {&fakeControllers{}, []string{"--from=/nowhere/x"}, "/nowhere/x"},
	} {
		if f, host, _, err := open(t, c.controllers, c.args...); err == nil || host != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, %+v", name, host, err, f)
		}
	}
}
