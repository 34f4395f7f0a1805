package main

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

// approvalFlags say who decides about the writes of the loops, or of exec's command.
type approvalFlags struct {
	ask    bool
	policy string
}

func (a *approvalFlags) addTo(flags *pflag.FlagSet, whose string) {
	flags.BoolVar(&a.ask, "ask", false, "have each write of "+whose+" wait for a yes")
	flags.StringVar(&a.policy, "approve-policy", "", "let out the writes that this policy allows; the others are skipped, or asked about with --ask")
}

func (a *approvalFlags) given() bool { return a.ask || a.policy != "" }

func (a *approvalFlags) check(mode state.Mode) error {
	if a.given() && mode != state.ModeActive {
		return errors.New("--ask and --approve-policy decide about real writes, and this run is dry: add --sandbox, or --active with --confirm=CONTEXT, or leave them out")
	}
	return nil
}

// load reads the policy. Who is to be asked needs a terminal; with a policy it can
// be done without.
func (a *approvalFlags) load(in io.Reader, out io.Writer) (engine.Approvals, error) {
	return a.loadFor(console.IsTerminal(in) && console.IsTerminal(out), resolveWriter)
}

func (a *approvalFlags) loadFor(terminal bool, names func(string) (string, error)) (d engine.Approvals, err error) {
	d.Signalled = a.given()
	if a.policy != "" {
		if d.Policy, err = readPolicy(a.policy, names); err != nil {
			return d, err
		}
	}
	d.Ask = a.ask && terminal
	if a.ask && !terminal && d.Policy == nil {
		return d, errors.New("--ask needs a terminal to ask on: run it on one, or say with --approve-policy FILE what may be written")
	}
	return d, nil
}

// readPolicy reads a policy from a file. names gives the full names of those that it
// calls controllers.
func readPolicy(file string, names func(string) (string, error)) (*approve.Policy, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w: check the path", err)
	}
	return parsePolicy(file, content, names)
}

// readPolicyFrom reads a policy from a stream, which messages call by a name.
func readPolicyFrom(name string, in io.Reader, names func(string) (string, error)) (*approve.Policy, error) {
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

// resolveWriter gives the full name of a loop, or of kube-scheduler.
func resolveWriter(name string) (string, error) {
	if name == scheduler.Name {
		return name, nil
	}
	return controllers.Resolve(name)
}

// clientName is what a policy for exec may call a controller: the first word of a
// user agent.
func clientName(name string) (string, error) {
	if !proxy.IsName(name) {
		return "", fmt.Errorf("%q is no client: name the first word of its user agent, as the journal does, or * for any", name)
	}
	return name, nil
}
