package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/metrics"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

type queuesOptions struct {
	genericiooptions.IOStreams
	cluster *genericclioptions.ConfigFlags
	printer *outputPrinter
	attach  attachFlags
	now     func() time.Time

	names    []string
	source   metricsFlags
	interval time.Duration
	check    string
	checks   []metrics.Check
	keys     bool
}

// keysShown is how many keys of a queue are named.
const keysShown = 100

func newGetQueuesCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &queuesOptions{
		IOStreams: streams, cluster: genericclioptions.NewConfigFlags(true), printer: newPrinter(), now: time.Now,
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

--check is for probes: "depth=100,oldest=5m" exits with 1 and names the queues
that are over a bound. oldest is the age of the longest running sync and, of
loops in this program, of the key that stands ready longest.

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
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	o.source.addTo(flags)
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "time between two readings of another process's metrics; 0 reads once and gives no rates")
	flags.StringVar(&o.check, "check", "", "exit with 1 if a queue is over a bound: NAME=BOUND,… with "+strings.Join(metrics.Checkable(), ", "))
	flags.BoolVar(&o.keys, "keys", false, "name the keys that are ready, waiting or being processed (loops of this program only)")
	o.attach.addTo(cmd)
	o.attach.recording.addTo(cmd)
	o.printer.addFlags(cmd)
	o.cluster.AddFlags(flags)
	_ = cmd.RegisterFlagCompletionFunc("metrics-from", cobra.FixedCompletions(append([]string{"pod/"}, metrics.Components()...), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	return cmd
}

func (o *queuesOptions) validate() error {
	if err := o.source.check(); err != nil {
		return err
	}
	switch {
	case o.interval < 0:
		return errors.New("--interval must not be negative")
	case o.keys && o.source.given():
		return errors.New("--keys: metrics have no keys; they are known of the loops of this program only")
	case o.attach.recording.given() && o.source.given():
		return errors.New("--from and --metrics-from or --metrics-url exclude each other")
	case o.attach.attach != "" && o.source.given():
		return errors.New("--attach and --metrics-from or --metrics-url exclude each other")
	}
	if o.check != "" {
		var err error
		if o.checks, err = metrics.ParseChecks(o.check); err != nil {
			return fmt.Errorf("--check: %w", err)
		}
	}
	return errors.Join(o.attach.check(), o.printer.complete(o.Out))
}

func (o *queuesOptions) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	ctx, cancel := withSignals(ctx, o.ErrOut, "stopped")
	defer cancel()
	queues, process, err := o.read(ctx)
	if o.attach.recording.given() {
		o.now = o.attach.recording.now // ages are those of then
	}
	if err != nil {
		return causeOf(ctx, err)
	}
	if queues, err = chooseQueues(queues, o.names); err != nil {
		return err
	}
	if err := o.print(queues, process); err != nil {
		return err
	}
	return o.checked(queues)
}

func (o *queuesOptions) read(ctx context.Context) ([]state.QueueStats, state.Process, error) {
	if o.source.given() {
		return o.scrape(ctx)
	}
	host, closing, err := o.attach.open(ctx, o.IOStreams, o.cluster)
	if err != nil {
		return nil, state.Process{}, err
	}
	defer closing()
	query := attach.QueueQuery{}
	if o.keys || !o.printer.forPeople() {
		query.Keys = keysShown
	}
	queues, err := host.Queues(ctx, query)
	return queues, host.Process(), err
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

func (o *queuesOptions) print(queues []state.QueueStats, process state.Process) error {
	err := o.printer.print(o.Out, found{
		Document: func() any {
			return queueList{APIVersion: apiVersion, Kind: "QueueList", Process: process, Items: queues}
		},
		Names: func() []string {
			names := make([]string, len(queues))
			for i := range queues {
				names[i] = "queue/" + metrics.Name(&queues[i])
			}
			return names
		},
		Table: func(wide bool) render.Table { return render.Queues(queues, render.QueueOptions{Wide: wide}) },
	})
	if err != nil || !o.printer.forPeople() {
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

func (o *queuesOptions) printKeys(queues []state.QueueStats) error {
	table := render.QueueKeys(queues, render.Times{Now: o.now(), Ages: isTerminal(o.Out)})
	if len(table.Rows) == 0 {
		fmt.Fprintln(o.ErrOut, "No keys: nothing is ready, waiting or being processed.")
		return nil
	}
	if _, err := io.WriteString(o.Out, "\n"); err != nil {
		return err
	}
	return table.Write(o.Out, render.TableOptions{NoHeaders: o.printer.noHeaders})
}

// checked is the probe's answer. A bound that nothing measures is an error: such
// a probe would say for ever that all is well.
func (o *queuesOptions) checked(queues []state.QueueStats) error {
	exceeded := false
	for _, check := range o.checks {
		if !check.Measured(queues) {
			return fmt.Errorf("--check %s: none of these queues tells that", check.What)
		}
		for _, sentence := range check.Exceeded(queues) {
			exceeded = true
			fmt.Fprintln(o.ErrOut, render.Sanitise(sentence))
		}
	}
	if exceeded {
		return errChanged
	}
	return nil
}
