package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
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

// decision is who decides: nobody where it is zero.
type decision struct {
	ask    bool
	policy *approve.Policy
	// ofCommand: it is about what exec's command writes, and not about loops.
	ofCommand bool
}

func (d decision) given() bool { return d.ask || d.policy != nil }

// load reads the policy. Who is to be asked needs a terminal; with a policy it can
// be done without.
func (a *approvalFlags) load(in io.Reader, out io.Writer) (decision, error) {
	return a.loadFor(console.IsTerminal(in) && console.IsTerminal(out), resolveWriter)
}

func (a *approvalFlags) loadFor(terminal bool, names func(string) (string, error)) (d decision, err error) {
	if a.policy != "" {
		if d.policy, err = readPolicy(a.policy, names); err != nil {
			return d, err
		}
	}
	d.ask = a.ask && terminal
	if a.ask && !terminal && d.policy == nil {
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

// approval is the gate at which writes stand; nil where they need no leave.
type approval struct {
	gate   *approve.Gate
	policy *approve.Policy
	// ofCommand: exec's command stands there, and the loops do not.
	ofCommand bool
	// broken is for tests that must see the gate fail; see approve.Broken.
	broken approve.Broken
}

// decide puts up the gate. Nothing may be connected yet.
func (s *session) decide(d decision) {
	if !d.given() {
		return
	}
	s.approval.policy, s.approval.ofCommand = d.policy, d.ofCommand
	options := approve.Options{Policy: d.policy, Ask: d.ask, Recorder: s.hub, Broken: s.approval.broken, OnBrake: func() []string { return s.brakeMeans(d.ask) }}
	if d.ofCommand {
		options.Unasked = ownElection
	}
	s.approval.gate = approve.New(options)
	s.hub.OnControlLoss(s.approval.gate.Restate)
	if !d.ask {
		s.note("approve", "what no rule of the policy allows is skipped; SIGUSR1 to process %d releases the brake, should it come on", os.Getpid())
	}
}

// ofLoops decides about the loops' writes; nil where they need no leave.
func (a approval) ofLoops() func(context.Context, guard.Pending) error {
	if a.gate == nil || a.ofCommand {
		return nil
	}
	return a.gate.Before
}

// ofTheCommand decides about the writes of exec's command, likewise.
func (a approval) ofTheCommand() func(context.Context, guard.Pending) error {
	if a.gate == nil || !a.ofCommand {
		return nil
	}
	return a.gate.Before
}

// keptLease is what follows from nothing being written while this process leads.
const keptLease = "this process keeps the lease meanwhile, so nobody reconciles"

// keepsLease reports whether this process has the lease of a cluster's controller
// manager.
func (s *session) keepsLease() bool {
	e := s.hub.Snapshot().Election
	return e != nil && (e.Phase == state.ElectionAcquired || e.Phase == state.ElectionRenewedLate)
}

// brakeMeans is what the line of the brake adds to its reason.
func (s *session) brakeMeans(asks bool) []string {
	var said []string
	if s.keepsLease() {
		said = append(said, keptLease)
	}
	if !asks {
		said = append(said, fmt.Sprintf("'kill -USR1 %d' releases it", os.Getpid()))
	}
	return said
}

// never reports whether nothing that a loop writes can leave.
func (a approval) never(controller string) bool {
	return a.gate != nil && !a.ofCommand && !a.gate.Asks() && (a.policy == nil || !a.policy.Concerns(controller))
}
