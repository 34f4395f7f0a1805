// Package rbac is the command that prints the least role for a use of this program.
package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/controllerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	kubeconfig  *genericclioptions.ConfigFlags
	controllers *controllers.Options
	flags       *pflag.FlagSet

	mode        string
	verbs       []string
	impersonate bool
	scheduler   bool
	name        string
	bind        []string
	check       bool
	offline     bool
	output      string

	// What the flags come to.
	use      rights.Mode
	subjects []rbacv1.Subject
}

// loopVerbs are verbs that need what loops in a dry run read, and no more.
var loopVerbs = []string{"cache", "informers", "queues"}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{IOStreams: streams, kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Print the least role for a use of this program, and say what of it you lack",
		Long: `Print the least role for a use of this program, as manifests for kubectl: a
ClusterRole and, for what is in one namespace, Roles. A comment above each rule
says who needs it; -o json has that in an annotation. On standard error it says
which of these rights the current user lacks, as the API server tells.

Modes, for the loops of --controllers:
  observe         the screen and the verbs that ask: what they, and the loops'
                  informers, read
  dry-run         'run': the loops read, and answer their own writes
  dry-run=server  'run --dry-run=server': the API server asks for the rights to
                  write in a dry run too
  active          'run --active': the loops write, and hold the Lease, which the
                  --leader-elect-resource-* flags name as they do for 'run'

The loops' part is upstream's role for each (system:controller:NAME), with list
and watch of the types of its informers. Flags of loops count as they do for
'run': a loop that cannot start with them is left out. With -n, the loops that can
be confined to one namespace get a Role there.

With --scheduler, it is the role for 'run --scheduler': upstream's for kube-scheduler.

--verbs adds the verbs that ask; in mode observe they are all in by default. tree,
cascade, why and tui read objects of any type, and RBAC has no right to metadata
alone: their rule allows to read Secrets. 'get queues --metrics-from' is not
counted.

With --impersonate-controllers, it is the role for 'run
--impersonate-controllers': the right to act as the accounts of the loops in place
of what these may do.

With --check, the exit code is 1 if you lack something, and 0 if you do not.`,
		Example: `  # For a dry run of two loops, bound to a user
  kctl-ctrl rbac --controllers=deployment,replicaset --mode=dry-run --bind=user:jane | kubectl apply -f -

  # To look at leases and revisions, and at nothing else
  kctl-ctrl rbac --mode=observe --verbs=leases,revisions

  # May I?
  kctl-ctrl rbac --controllers=deployment --mode=active --check >/dev/null`,
		Args: cliflags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	flags := cmd.Flags()
	o.flags = flags
	flags.StringVar(&o.mode, "mode", string(rights.DryRun), "what the role is for: observe, dry-run, dry-run=server or active")
	flags.StringSliceVar(&o.verbs, "verbs", nil, "verbs that ask, to add: "+strings.Join(o.knownVerbs(), ", ")+" (default all in mode observe)")
	flags.BoolVar(&o.impersonate, "impersonate-controllers", false, "the loops act as their accounts in kube-system")
	flags.BoolVar(&o.scheduler, "scheduler", false, "for kube-scheduler instead of loops")
	flags.StringVar(&o.name, "name", "", "name of the roles (default kctl-ctrl-MODE)")
	flags.StringSliceVar(&o.bind, "bind", nil, "bind the roles too, to user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME")
	flags.BoolVar(&o.check, "check", false, "exit with 1 if the current user lacks a right")
	flags.BoolVar(&o.offline, "offline", false, "do not ask the server what the current user lacks")
	flags.StringVarP(&o.output, "output", "o", "yaml", "output format: yaml or json")
	controllerflags.Add(cmd, &o.controllers)
	if o.controllers != nil {
		o.controllers.AddElectionFlags(flags)
	}
	cliflags.AddCluster(o.kubeconfig, flags)
	_ = cmd.RegisterFlagCompletionFunc("bind", cobra.FixedCompletions([]string{"user:", "group:", "serviceaccount:"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"observe", "dry-run", "dry-run=server", "active"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("verbs", cobra.FixedCompletions(o.knownVerbs(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *Options) knownVerbs() []string {
	return slices.Sorted(slices.Values(slices.Concat(rights.Verbs(), loopVerbs)))
}

func (o *Options) complete() error {
	var err error
	if o.use, err = rights.ParseMode(o.mode); err != nil {
		return fmt.Errorf("--mode: %w", err)
	}
	if err := printing.CheckFormat(o.output, "yaml", "json"); err != nil {
		return err
	}
	for _, text := range o.bind {
		subject, err := rights.ParseSubject(text)
		if err != nil {
			return fmt.Errorf("--bind: %w", err)
		}
		o.subjects = append(o.subjects, subject)
	}
	if o.use == rights.Observe && o.verbs == nil {
		o.verbs = o.knownVerbs()
	}
	for _, verb := range o.verbs {
		if !slices.Contains(o.knownVerbs(), verb) {
			return fmt.Errorf("--verbs: unknown verb %q: use %s", verb, strings.Join(o.knownVerbs(), ", "))
		}
	}
	if o.name == "" {
		mode, server, _ := strings.Cut(string(o.use), "=")
		o.name = strings.TrimSuffix("kctl-ctrl-"+mode+"-"+server, "-")
	}
	if o.use == rights.Active {
		if err := controllerflags.CheckElection(o.flags); err != nil {
			return err
		}
	}
	switch {
	case o.scheduler && o.flags.Changed("controllers"):
		return errors.New("--scheduler and --controllers exclude each other: print two roles, for two processes")
	case o.scheduler && o.impersonate:
		return errors.New("--impersonate-controllers is about loops, and kube-scheduler has no account of theirs: leave it out")
	case o.scheduler && o.use == rights.Observe:
		return errors.New("--scheduler is about a kube-scheduler that runs: use --mode=dry-run or active")
	case o.scheduler && *o.kubeconfig.Namespace != "":
		return errors.New("--namespace with --scheduler: kube-scheduler places pods by what runs on the whole cluster: leave it out")
	case o.use != rights.Active && controllerflags.NeedsActive(o.flags) != "":
		return fmt.Errorf("--%s is about the lease of active mode: use --mode=active", controllerflags.NeedsActive(o.flags))
	case o.impersonate && o.use == rights.Observe:
		return errors.New("--impersonate-controllers is about loops that run: use --mode=dry-run or active")
	case o.check && o.offline:
		return errors.New("--check asks the server and --offline does not: leave one out")
	}
	return cliflags.RefuseNoEffect(o.flags, cliflags.NoEffect{In: o.offline, Flags: cliflags.ClusterNames(), Why: "with --offline, which asks no server: leave one of them out"})
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	if err := o.complete(); err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()
	rules, err := o.rules()
	if err != nil {
		return err
	}
	if err := o.print(rights.Roles(o.name, rules)); err != nil {
		return err
	}
	if slices.ContainsFunc(rules, readsSecrets) {
		fmt.Fprintln(o.ErrOut, "this allows to read Secrets, by the rule for every type: there is no right to metadata alone")
	}
	if o.offline {
		return nil
	}
	lacks, err := o.lacks(ctx, rules)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && o.check:
		return err
	case err != nil:
		fmt.Fprintln(o.ErrOut, "what you lack of this is not known:", render.Sanitise(err.Error()))
		return nil
	case len(lacks) == 0:
		fmt.Fprintln(o.ErrOut, "you lack nothing of this")
		return nil
	}
	for _, rule := range lacks {
		where := ""
		if rule.Namespace != "" {
			where = " in namespace " + rule.Namespace
		}
		fmt.Fprintln(o.ErrOut, render.Sanitise(fmt.Sprintf("you lack: %s %s%s, for %s", strings.Join(rule.Verbs, ", "), rule.What(), where, rule.NeededBy())))
	}
	if o.check {
		return exit.ErrChanged
	}
	return nil
}

// rules are what the flags ask for, merged.
func (o *Options) rules() ([]rights.Rule, error) {
	component, err := o.controllers.Complete(controllers.Inputs{})
	if err != nil {
		return nil, err
	}
	namespace := *o.kubeconfig.Namespace
	lease := component.Generic.LeaderElection
	of := election.ControllerManager()
	var loops []rights.Loop
	var off []string
	if o.scheduler {
		of, loops = election.Scheduler(), []rights.Loop{scheduler.Rights()}
		if !o.flags.Changed("leader-elect-resource-name") {
			lease.ResourceName = of.Name
		}
	} else if loops, off, err = controllers.Rights(component, namespace); err != nil {
		return nil, fmt.Errorf("--controllers: %w", err)
	}
	var needs []rights.Need
	asks := slices.DeleteFunc(slices.Clone(o.verbs), func(v string) bool { return slices.Contains(loopVerbs, v) })
	if o.use != rights.Observe || len(asks) < len(o.verbs) {
		if len(off) > 0 && (o.use != rights.Observe || o.flags.Changed("controllers")) {
			fmt.Fprintln(o.ErrOut, "not counted, as these loops would be off:", strings.Join(off, ", "))
		}
		if len(loops) == 0 && len(component.Generic.Controllers) > 0 {
			return nil, errors.New("no loop is left to count: see the flags of loops in 'help loop-flags'")
		}
		how := rights.Options{Mode: o.use, Impersonate: o.impersonate}
		if lease.LeaderElect {
			how.Lease = &rights.Lease{Namespace: lease.ResourceNamespace, Name: lease.ResourceName}
		}
		needs = rights.OfLoops(loops, how)
		if how.Lease != nil && o.use == rights.Active {
			needs = append(needs, rights.OfPreflight(*how.Lease, rights.Lease{Namespace: of.Namespace, Name: of.Name})...)
		}
	}
	asked, err := rights.OfVerbs(asks)
	if err != nil {
		return nil, err
	}
	rules := rights.Merge(rights.Confine(append(needs, asked...), namespace))
	if len(rules) == 0 {
		return nil, errors.New("nothing needs a right: name loops with --controllers or verbs with --verbs")
	}
	return rules, nil
}

// readsSecrets reports whether a rule lets its holder read Secrets without having
// named them.
func readsSecrets(r rights.Rule) bool {
	return slices.Contains(r.Resources, "*") && slices.Contains(r.Groups, "*") &&
		slices.ContainsFunc(r.Verbs, func(v string) bool { return v == "get" || v == "list" || v == "watch" })
}

func (o *Options) print(roles []rights.Role) error {
	if o.output == "json" {
		return printing.Document(o.Out, "json", rights.List(roles, o.subjects))
	}
	text, err := rights.YAML(roles, o.subjects)
	if err != nil {
		return err
	}
	_, err = o.Out.Write(text)
	return err
}

// lacks asks the server which of the rights the current user does not have.
func (o *Options) lacks(ctx context.Context, rules []rights.Rule) ([]rights.Rule, error) {
	if _, err := connect.TargetOf(o.kubeconfig.ToRawKubeConfigLoader()); err != nil {
		return nil, err
	}
	config, err := cliflags.ReadOnlyConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	var all []rights.Right
	for _, rule := range rules {
		all = append(all, rule.Rights()...)
	}
	progress := console.NewProgress(o.ErrOut)
	defer progress.Done()
	progress.Line("asking what you may")
	missing, err := rights.Missing(ctx, client, all)
	if err != nil {
		return nil, explain.Error(err, "ask the API server what you may")
	}
	return rights.Only(rules, missing), nil
}
