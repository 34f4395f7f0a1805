// Package queues is the command that lists work queues: of controllers in this program, of
// a recording, or of any process that has metrics.
package queues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/look"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/metrics"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	cluster *genericclioptions.ConfigFlags
	printer *printing.Printer
	attach  look.Flags
	flags   *pflag.FlagSet
	now     func() time.Time

	names    []string
	source   metricsFlags
	interval time.Duration
	check    string
	checks   []metrics.Check
	keys     bool
	sortBy   string
	watch    bool
	// unread counts the contexts that could not be asked.
	unread int
}

// keysShown is how many keys of a queue are named.
const keysShown = 100

// New makes the command.
func New(streams genericiooptions.IOStreams, controllers look.Controllers) *cobra.Command {
	o := &Options{
		IOStreams: streams, cluster: genericclioptions.NewConfigFlags(true), printer: printing.New(), now: time.Now,
	}
	cmd := &cobra.Command{
		Use:     "queues [NAME...]",
		Aliases: []string{"queue", "workqueues"},
		Short:   "Say what stands in the work queues of controllers, and how fast it goes",
		Long: `List work queues: keys that stand ready and keys with a worker, how long the
longest sync has been running, additions, retries, and how long keys wait and
their syncs take.

Without more, these are the queues of the loops in this program: of the
kctl-ctrl that runs on this cluster (run, sandbox), or else of loops that are
started for it, dry, for as long as --for says. Only of those the keys are
known: --keys names them, with their cause and their last error.

Any other process is asked for its /metrics: --metrics-from=pod/NAME goes through
the API server as kubectl port-forward does, --metrics-from=kube-controller-manager
and kube-scheduler find the leader's pod, and --metrics-url asks a URL. Their
keys are not known to anybody but themselves. Metrics are read twice, --interval
apart, for the rates.

A client certificate of your kubeconfig is shown to the process that is asked. A
token is not, unless the process proves who it is: kube-controller-manager signs
its own certificate, so that needs --insecure-metrics. A URL gets neither.

The deepest queues come first; --sort-by takes another column. With --watch the
queues are looked at again every --interval: on a terminal the table is drawn
anew, elsewhere the queues that changed are printed.

--check is for probes: "depth=100,oldest=5m" exits with 1 and names the queues
that are over a bound, with 0 if all are within it, and with 2 if that cannot be
told: nothing measures the bound, a context cannot be asked, or loops were
started for it and some cannot run for want of rights. Name the queues, or the
loops with --controllers, to have no others looked at. oldest is the age of the
longest running sync and, of controllers in this program, of the key that is ready
longest. retries and errors are per second: they are looked at twice, --interval
apart, or, in a recording, averaged since its beginning. A key that is ready while
workers are idle is a defect of this program, and over any bound.

With --from it answers from a recording instead, at its end or at the time that
--at names.`,
		Example: `  # What do the loops of the running kctl-ctrl have to do?
  kctl-ctrl get queues --keys

  # The cluster's own kube-controller-manager
  kctl-ctrl get queues --metrics-from=kube-controller-manager

  # An operator's pod, as a probe
  kctl-ctrl get queues --metrics-from=pod/shop-operator-0:8080 -n shop --check depth=100,longest=5m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return o.Run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	o.flags = flags
	o.source.addTo(flags)
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "time between two readings of another process's metrics, and between two looks of --watch and of --check retries or errors; 0 reads metrics once and gives no rates")
	flags.StringVar(&o.check, "check", "", "exit with 1 if a queue is over a bound: NAME=BOUND,… with "+strings.Join(metrics.Checkable(), ", "))
	flags.BoolVar(&o.keys, "keys", false, "name the keys that are ready, waiting or being processed (loops of this program only)")
	flags.StringVar(&o.sortBy, "sort-by", "", "sort by "+strings.Join(sortedBy(), ", ")+"; by depth where tables are printed, else as the process tells them")
	_ = cmd.RegisterFlagCompletionFunc("sort-by", cobra.FixedCompletions(sortedBy(), cobra.ShellCompDirectiveNoFileComp))
	flags.BoolVarP(&o.watch, "watch", "w", false, "look again every --interval, until interrupted")
	o.attach.Controllers = controllers
	o.attach.AddTo(cmd)
	o.attach.Recording.AddTo(cmd)
	o.printer.AddFlags(cmd)
	cliflags.AddCluster(o.cluster, flags)
	_ = cmd.RegisterFlagCompletionFunc("metrics-from", cobra.FixedCompletions(append([]string{"pod/"}, metrics.Components()...), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	return cmd
}

func (o *Options) validate() error {
	if err := o.source.check(); err != nil {
		return err
	}
	switch {
	case o.interval < 0:
		return errors.New("--interval must not be negative")
	case o.keys && o.source.given():
		return errors.New("--keys: metrics have no keys; they are known of the loops of this program only")
	case o.attach.Recording.Given() && o.source.given():
		return errors.New("--from and --metrics-from or --metrics-url exclude each other")
	case o.attach.Attach != "" && o.source.given():
		return errors.New("--attach and --metrics-from or --metrics-url exclude each other")
	case o.sortBy != "" && queueOrders[o.sortBy] == nil:
		return fmt.Errorf("unknown --sort-by %q: use %s", o.sortBy, strings.Join(sortedBy(), ", "))
	case o.watch && o.check != "":
		return errors.New("--check is for one look: it does not go with --watch")
	case o.watch && o.attach.Recording.Given():
		return errors.New("--watch looks at what goes on: it does not go with --from")
	case o.watch && o.interval == 0:
		return errors.New("--watch looks every --interval: it cannot be 0")
	}
	if o.check != "" {
		var err error
		if o.checks, err = metrics.ParseChecks(o.check); err != nil {
			return fmt.Errorf("--check: %w", err)
		}
	}
	if o.interval == 0 && !o.attach.Recording.Given() && metrics.NeedRates(o.checks) {
		return fmt.Errorf("--check %s: a figure per second takes two looks: --interval must not be 0", o.check)
	}
	modes := append(o.attach.NoEffects(),
		cliflags.NoEffect{In: o.source.url != "", Flags: append(cliflags.ClusterNames(), "namespace"), Why: "with --metrics-url, which needs no kubeconfig: leave one of them out, or use --metrics-from"},
		cliflags.NoEffect{In: o.source.given(), Flags: []string{"for", "controllers"}, Why: "with --metrics-from and --metrics-url, which start no controllers here: name queues instead"},
		cliflags.NoEffect{In: !o.source.given() && !o.watch && (!metrics.NeedRates(o.checks) || o.attach.Recording.Given()), Flags: []string{"interval"}, Why: "without --watch, --metrics-from, --metrics-url or --check of a rate: add one, or leave this out"},
	)
	return errors.Join(o.attach.Check(), o.printer.Complete(o.Out), cliflags.RefuseNoEffect(o.flags, modes...))
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()
	contexts, err := cliflags.Clusters(o.cluster)
	if err != nil {
		return err
	}
	if o.attach.Recording.Given() && len(contexts) > 1 {
		return errors.New("a recording is of one cluster: --from and several contexts exclude each other")
	}
	if o.watch {
		if len(contexts) > 1 {
			return errors.New("--watch follows one context: choose one with --context")
		}
		return explain.Cause(ctx, o.follow(ctx, contexts[0]))
	}
	queues, process, err := o.read(ctx, contexts)
	if o.attach.Recording.Given() {
		o.now = o.attach.Recording.Now // ages are those of then
	}
	if err != nil {
		return explain.Cause(ctx, err)
	}
	if queues, err = o.arrange(queues); err != nil {
		return err
	}
	if err := o.print(queues, process); err != nil {
		return err
	}
	return o.checked(queues)
}

// read looks once, in each context.
func (o *Options) read(ctx context.Context, contexts []cliflags.Cluster) ([]state.QueueStats, state.Process, error) {
	switch {
	case o.source.url != "":
		return o.scrapeURL(ctx)
	case o.source.given():
		return o.inEach(contexts, func(in cliflags.Cluster) ([]state.QueueStats, state.Process, error) {
			return o.scrapePod(ctx, in)
		})
	case o.attach.Attach != "" && o.attach.Attach != look.None && len(contexts) > 1:
		return nil, state.Process{}, errors.New("--attach names one process: give one --context, or none")
	}
	return o.inEach(contexts, func(in cliflags.Cluster) ([]state.QueueStats, state.Process, error) {
		// One after the other: where loops have to be started, those of one cluster
		// end before those of the next begin.
		host, closing, err := o.attach.OpenIn(ctx, o.IOStreams, in)
		if err != nil {
			return nil, state.Process{}, err
		}
		defer closing()
		queues, err := host.Queues(ctx, o.query())
		if err == nil && metrics.NeedRates(o.checks) {
			queues, err = o.withRates(ctx, host, queues)
		}
		return queues, host.Process(), err
	})
}

// withRates gives queues the rates that are checked: those of a recording since its
// beginning, others since a look --interval before.
func (o *Options) withRates(ctx context.Context, host attach.Host, queues []state.QueueStats) ([]state.QueueStats, error) {
	if o.attach.Recording.Given() {
		return metrics.WithRates(nil, queues, o.attach.Recording.Now().Sub(host.Process().Started)), nil
	}
	begun := o.now()
	if err := console.Sleep(ctx, o.interval); err != nil {
		return nil, context.Cause(ctx)
	}
	later, err := host.Queues(ctx, o.query())
	if err != nil {
		return nil, err
	}
	return metrics.WithRates(queues, later, o.now().Sub(begun)), nil
}

func (o *Options) query() attach.QueueQuery {
	if o.keys || !o.printer.ForPeople() {
		return attach.QueueQuery{Keys: keysShown}
	}
	return attach.QueueQuery{}
}

// inEach reads the queues of each context. What fails in one of several is a
// warning.
func (o *Options) inEach(contexts []cliflags.Cluster, read func(cliflags.Cluster) ([]state.QueueStats, state.Process, error)) ([]state.QueueStats, state.Process, error) {
	if len(contexts) == 1 {
		return read(contexts[0])
	}
	var all []state.QueueStats
	var sources []string
	var failures []error
	for _, in := range contexts {
		queues, process, err := read(in)
		if err != nil {
			failures = append(failures, fmt.Errorf("context %s: %w", in.Name, err))
			continue
		}
		for i := range queues {
			queues[i].Context = in.Name
		}
		all = append(all, queues...)
		sources = append(sources, process.Source)
	}
	if len(sources) > 0 {
		for _, failure := range failures {
			fmt.Fprintln(o.ErrOut, "warning:", render.Sanitise(failure.Error()))
		}
		o.unread = len(failures)
		failures = nil
	}
	return all, state.Process{Source: strings.Join(sources, "; ")}, errors.Join(failures...)
}

// arrange chooses the queues that are named and puts them in order.
func (o *Options) arrange(queues []state.QueueStats) ([]state.QueueStats, error) {
	queues, err := chooseQueues(queues, o.names)
	if err != nil {
		return nil, err
	}
	by := o.sortBy
	if by == "" && o.printer.ForPeople() {
		by = "depth"
	}
	if compare := queueOrders[by]; compare != nil {
		queues = slices.Clone(queues)
		slices.SortStableFunc(queues, func(a, b state.QueueStats) int { return compare(&a, &b) })
	}
	return queues, nil
}

// queueOrders are the values of --sort-by: the most first, what is not known
// last; names from A to Z.
var queueOrders = map[string]func(a, b *state.QueueStats) int{
	"name": func(a, b *state.QueueStats) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Context, b.Context))
	},
	"depth":    mostFirst(func(q *state.QueueStats) *int64 { return q.Depth }),
	"waiting":  mostFirst(func(q *state.QueueStats) *int64 { return q.Waiting }),
	"inflight": mostFirst(func(q *state.QueueStats) *int64 { return q.InFlight }),
	"longest":  mostFirst(func(q *state.QueueStats) *state.Duration { return q.Longest }),
	"oldest":   mostFirst(func(q *state.QueueStats) *state.Duration { return q.Oldest }),
	"adds":     mostFirst(func(q *state.QueueStats) *uint64 { return total(q.Adds) }),
	"retries":  mostFirst(func(q *state.QueueStats) *uint64 { return total(q.Retries) }),
	"errors":   mostFirst(func(q *state.QueueStats) *uint64 { return total(q.Errors) }),
}

func sortedBy() []string { return slices.Sorted(maps.Keys(queueOrders)) }

func total(c *state.Counter) *uint64 {
	if c == nil {
		return nil
	}
	return &c.Total
}

func mostFirst[T cmp.Ordered](of func(*state.QueueStats) *T) func(a, b *state.QueueStats) int {
	return func(a, b *state.QueueStats) int {
		switch x, y := of(a), of(b); {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		default:
			return cmp.Compare(*y, *x)
		}
	}
}

// chooseQueues keeps those that are named, by queue or controller.
func chooseQueues(queues []state.QueueStats, names []string) ([]state.QueueStats, error) {
	if len(names) == 0 {
		return queues, nil
	}
	used := map[string]bool{}
	chosen := slices.DeleteFunc(slices.Clone(queues), func(q state.QueueStats) bool {
		for _, name := range names {
			if name == q.Name || name == q.Controller || q.Controller != "" && name == render.ShortName(q.Controller) {
				used[name] = true
				return false
			}
		}
		return true
	})
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("no queue %q in this process: without a name, all are listed", name)
		}
	}
	return chosen, nil
}

// queueList is what `get queues` prints for programs.
type queueList struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Process    state.Process      `json:"process"`
	Items      []state.QueueStats `json:"items"`
}

func (o *Options) print(queues []state.QueueStats, process state.Process) error {
	err := o.printer.Print(o.Out, printing.Found{
		Document: func() any {
			return queueList{APIVersion: about.APIVersion, Kind: "QueueList", Process: process, Items: queues}
		},
		Names: func() []string {
			names := make([]string, len(queues))
			for i := range queues {
				names[i] = "queue/" + metrics.Name(&queues[i])
			}
			return names
		},
		Table: func(wide bool) render.Table { return o.queueTable(queues, wide) },
	})
	if err != nil || !o.printer.ForPeople() {
		return err
	}
	if len(queues) == 0 {
		fmt.Fprintln(o.ErrOut, "No queues found.")
	}
	if o.keys {
		return o.printKeys(queues)
	}
	return nil
}

func (o *Options) queueTable(queues []state.QueueStats, wide bool) render.Table {
	return render.Queues(queues, render.QueueOptions{Wide: wide, Steady: o.watch})
}

func (o *Options) printKeys(queues []state.QueueStats) error {
	table := render.QueueKeys(queues, render.Times{Now: o.now(), Ages: console.IsTerminal(o.Out)})
	if len(table.Rows) == 0 {
		fmt.Fprintln(o.ErrOut, "No keys: nothing is ready, waiting or being processed.")
		return nil
	}
	if _, err := io.WriteString(o.Out, "\n"); err != nil {
		return err
	}
	return table.Write(o.Out, render.TableOptions{NoHeaders: o.printer.NoHeaders})
}

// checked is the probe's answer. A bound that nothing measures is an error, and so
// are queues that were asked for and could not be seen: such a probe would say for
// ever that all is well. What is over a bound is that, whatever else is not seen.
func (o *Options) checked(queues []state.QueueStats) error {
	exceeded := false
	if len(o.checks) > 0 {
		for _, sentence := range metrics.Stalled(queues) {
			exceeded = true
			fmt.Fprintln(o.ErrOut, render.Sanitise(sentence))
		}
	}
	for _, check := range o.checks {
		if !check.Measured(queues) {
			return fmt.Errorf("--check %s: none of these queues tells that", check.What)
		}
		for _, sentence := range check.Exceeded(queues) {
			exceeded = true
			fmt.Fprintln(o.ErrOut, render.Sanitise(sentence))
		}
	}
	switch {
	case exceeded:
		return exit.ErrChanged
	case len(o.attach.Unsynced) > 0:
		return o.attach.Incomplete()
	case len(o.checks) == 0:
	case o.unread > 0:
		return fmt.Errorf("--check: what was seen is within its bounds, but %d of the contexts could not be asked (see above): choose the others with --context", o.unread)
	case o.attach.Missing > 0 && len(o.names) == 0:
		return fmt.Errorf("--check: what was seen is within its bounds, but %d of the loops cannot run (see above): name the queues to check, choose other loops with --controllers, or ask for a role: 'rbac' prints the least one", o.attach.Missing)
	}
	return nil
}
