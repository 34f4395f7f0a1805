package engineflags

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
)

// Approvals say who decides about the writes of the loops, or of exec's command.
type Approvals struct {
	Ask    bool
	Policy string
}

// AddTo registers the flags; whose says whose writes they are about.
func (a *Approvals) AddTo(flags *pflag.FlagSet, whose string) {
	flags.BoolVar(&a.Ask, "ask", false, "have each write of "+whose+" wait for a yes")
	flags.StringVar(&a.Policy, "approve-policy", "", "let out the writes that this policy allows; the others are skipped, or asked about with --ask")
}

// Given reports whether somebody decides.
func (a *Approvals) Given() bool { return a.Ask || a.Policy != "" }

// Check refuses them where nothing is written for real.
func (a *Approvals) Check(mode state.Mode) error {
	if a.Given() && mode != state.ModeActive {
		return errors.New("--ask and --approve-policy decide about real writes, and this run is dry: add --sandbox, or --active with --confirm=CONTEXT, or leave them out")
	}
	return nil
}

// Load reads the policy. Who is to be asked needs a terminal; with a policy it can
// be done without.
func (a *Approvals) Load(in io.Reader, out io.Writer) (engine.Approvals, error) {
	return a.LoadFor(console.IsTerminal(in) && console.IsTerminal(out), ResolveWriter)
}

// LoadFor is Load for a terminal that is there or not; names gives the full names of
// those that a policy calls controllers.
func (a *Approvals) LoadFor(terminal bool, names func(string) (string, error)) (d engine.Approvals, err error) {
	d.Signalled = a.Given()
	if a.Policy != "" {
		if d.Policy, err = ReadPolicy(a.Policy, names); err != nil {
			return d, err
		}
	}
	d.Ask = a.Ask && terminal
	if a.Ask && !terminal && d.Policy == nil {
		return d, errors.New("--ask needs a terminal to ask on: run it on one, or say with --approve-policy FILE what may be written")
	}
	return d, nil
}

// ReadPolicy reads a policy from a file. names gives the full names of those that it
// calls controllers.
func ReadPolicy(file string, names func(string) (string, error)) (*approve.Policy, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w: check the path", err)
	}
	return parsePolicy(file, content, names)
}

// ReadPolicyFrom reads a policy from a stream, which messages call by a name.
func ReadPolicyFrom(name string, in io.Reader, names func(string) (string, error)) (*approve.Policy, error) {
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read the policy from %s: %w", name, err)
	}
	return parsePolicy(name, content, names)
}

func parsePolicy(file string, content []byte, names func(string) (string, error)) (*approve.Policy, error) {
	policy, err := approve.Parse(file, content, names)
	if err != nil {
		return nil, fmt.Errorf("read the policy:\n%w", err)
	}
	return policy, nil
}

// ResolveWriter gives the full name of a loop, or of kube-scheduler.
func ResolveWriter(name string) (string, error) {
	if name == scheduler.Name {
		return name, nil
	}
	return controllers.Resolve(name)
}

// ClientName is what a policy for exec may call a controller: the first word of a
// user agent.
func ClientName(name string) (string, error) {
	if !proxy.IsName(name) {
		return "", fmt.Errorf("%q is no client: name the first word of its user agent, as the journal does, or * for any", name)
	}
	return name, nil
}
